# SPDX-License-Identifier: Apache-2.0
"""Where share servers get their addresses: plugins by entry point."""
