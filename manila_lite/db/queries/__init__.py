# SPDX-License-Identifier: Apache-2.0
"""Queries, one file per resource."""
