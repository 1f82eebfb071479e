# SPDX-License-Identifier: Apache-2.0
"""Base of all queries: the engine, units of work, status transitions, paging."""
