# SPDX-License-Identifier: Apache-2.0
"""The tests. On threads, like the product: whatever they import first."""

import manila_lite.cmd  # noqa: F401
