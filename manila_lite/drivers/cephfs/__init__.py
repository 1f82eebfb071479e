# SPDX-License-Identifier: Apache-2.0
"""The cephfs driver: shares are subvolumes of a CephFS file system of an existing Ceph cluster."""
