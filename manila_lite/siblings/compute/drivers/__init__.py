# SPDX-License-Identifier: Apache-2.0
"""Hypervisors, by entry point ``manila_lite.compute.drivers``; what each promises is in ``interface.py``."""
