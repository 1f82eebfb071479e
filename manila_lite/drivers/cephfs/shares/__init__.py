# SPDX-License-Identifier: Apache-2.0
"""Shares and snapshots of a cephfs backend: subvolumes and their snapshots."""
