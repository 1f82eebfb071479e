# SPDX-License-Identifier: Apache-2.0
"""Where nodes come from, found by entry points."""
