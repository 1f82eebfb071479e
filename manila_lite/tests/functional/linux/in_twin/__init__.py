# SPDX-License-Identifier: Apache-2.0
"""Tests that run in a twin of this machine (tests/services/twin.py), where the kernel has an NFS client. The tests in
the parent package start them.
"""
