# SPDX-License-Identifier: Apache-2.0
"""The walks of tools/quickstart."""
