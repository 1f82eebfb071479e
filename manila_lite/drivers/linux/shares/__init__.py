# SPDX-License-Identifier: Apache-2.0
"""Shares and snapshots of the pool, with their exports."""
