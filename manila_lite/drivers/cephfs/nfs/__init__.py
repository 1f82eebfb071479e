# SPDX-License-Identifier: Apache-2.0
"""The NFS gateway of a CephFS backend: an NFS-Ganesha of this machine, its addresses and its move to another machine."""
