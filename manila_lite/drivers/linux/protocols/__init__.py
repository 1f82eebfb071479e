# SPDX-License-Identifier: Apache-2.0
"""Servers of shares by protocol: NFS-Ganesha and Samba."""
