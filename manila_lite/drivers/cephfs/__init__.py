# SPDX-License-Identifier: Apache-2.0
"""Shares on CephFS."""
