# SPDX-License-Identifier: Apache-2.0
"""Databases of clouds: a Galera cluster, and PostgreSQL with a standby."""
