# SPDX-License-Identifier: Apache-2.0
"""The console: its files and sessions over HTTP, and its pages in a real browser."""
