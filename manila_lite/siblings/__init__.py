# SPDX-License-Identifier: Apache-2.0
"""Services that use shares: each reaches the share service over REST only, and has a database of its own."""
