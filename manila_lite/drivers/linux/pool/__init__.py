# SPDX-License-Identifier: Apache-2.0
"""Directories with size limits and snapshots: btrfs pools."""
