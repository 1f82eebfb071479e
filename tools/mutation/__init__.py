# SPDX-License-Identifier: Apache-2.0
"""Puts small faults into the product, one at a time, and has the tests that reach them judge: see tools/mutate."""
