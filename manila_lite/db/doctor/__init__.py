# SPDX-License-Identifier: Apache-2.0
"""Queries of the doctor: rows that contradict each other."""
