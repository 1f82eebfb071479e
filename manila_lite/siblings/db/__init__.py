# SPDX-License-Identifier: Apache-2.0
"""All SQL that siblings have in common."""
