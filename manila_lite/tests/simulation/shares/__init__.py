# SPDX-License-Identifier: Apache-2.0
"""Histories of shares: the real scheduler, plans of shares and quotas, at pools with little capacity."""
