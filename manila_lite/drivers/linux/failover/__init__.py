# SPDX-License-Identifier: Apache-2.0
"""Failover of share servers between hosts that can open the same pool."""
