# SPDX-License-Identifier: Apache-2.0
"""Factories of rows: the only way for tests to make rows without the API, many at once."""
