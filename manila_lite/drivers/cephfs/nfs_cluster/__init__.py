# SPDX-License-Identifier: Apache-2.0
"""Exports by an existing NFS cluster, which Ceph's manager looks after."""
