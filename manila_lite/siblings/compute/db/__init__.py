# SPDX-License-Identifier: Apache-2.0
"""All SQL of the compute service."""
