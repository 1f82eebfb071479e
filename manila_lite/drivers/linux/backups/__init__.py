# SPDX-License-Identifier: Apache-2.0
"""Backups of shares on a pool of this backend: subvolumes beside the shares, and private copies while a job reads them."""
