# SPDX-License-Identifier: Apache-2.0
"""Real storage on one Linux machine: btrfs for the bytes, NFS-Ganesha for the clients."""
