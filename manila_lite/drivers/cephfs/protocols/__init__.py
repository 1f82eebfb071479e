# SPDX-License-Identifier: Apache-2.0
"""The protocols by which clients reach the shares of a cephfs backend. ``table.py`` has them by name."""
