# SPDX-License-Identifier: Apache-2.0
"""The only way for tests to make rows without the API: many at once."""
