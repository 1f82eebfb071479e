# SPDX-License-Identifier: Apache-2.0
"""Histories of schedules: the product's schedulers, and a backend whose snapshots fail or take long."""
