# SPDX-License-Identifier: Apache-2.0
"""Servers with shares: what Nova does with virtiofs, for hosts without Nova."""
