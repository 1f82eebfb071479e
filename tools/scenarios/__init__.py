# SPDX-License-Identifier: Apache-2.0
"""The scenarios of tools/quickstart."""
