# SPDX-License-Identifier: Apache-2.0
"""Drivers of hypervisors, by entry point ``manila_lite.compute.drivers``; their interface is in ``interface.py``."""
