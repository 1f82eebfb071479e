# SPDX-License-Identifier: Apache-2.0
"""Pictures of the README, the pages and the console: tools/screenshots."""
