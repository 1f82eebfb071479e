# SPDX-License-Identifier: Apache-2.0
"""The calls of each ability of the cephfs driver, which only pass on to a service."""
