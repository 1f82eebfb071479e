# SPDX-License-Identifier: Apache-2.0
"""Programs and daemons of one machine, its mounts and its addresses."""
