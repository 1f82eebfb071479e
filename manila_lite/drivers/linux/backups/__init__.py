# SPDX-License-Identifier: Apache-2.0
"""Backups of shares: jobs that copy a share to an NFS export and back."""
