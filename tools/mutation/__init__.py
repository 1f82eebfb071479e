# SPDX-License-Identifier: Apache-2.0
"""Mutation tests: small faults in the product, one at a time, which its tests must notice. See tools/mutate."""
