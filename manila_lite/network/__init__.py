# SPDX-License-Identifier: Apache-2.0
"""Network plugins, loaded by entry point: they give share servers their addresses."""
