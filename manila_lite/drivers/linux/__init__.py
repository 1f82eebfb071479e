# SPDX-License-Identifier: Apache-2.0
"""Real storage on one Linux machine: btrfs holds the data, NFS-Ganesha and Samba serve the clients."""
