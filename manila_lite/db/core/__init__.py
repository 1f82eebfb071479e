# SPDX-License-Identifier: Apache-2.0
"""What every query is built on: the engine, units of work, status transitions, paging."""
