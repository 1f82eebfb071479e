# SPDX-License-Identifier: Apache-2.0
"""Services that use shares: each reaches the share service only over REST, and has its own database."""
