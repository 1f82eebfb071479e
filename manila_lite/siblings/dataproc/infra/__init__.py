# SPDX-License-Identifier: Apache-2.0
"""Infrastructures, which nodes come from, found by entry points."""
