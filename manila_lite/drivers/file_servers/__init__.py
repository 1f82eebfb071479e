# SPDX-License-Identifier: Apache-2.0
"""The life of file servers, and NFS-Ganesha, for every driver that runs them on this machine."""
