# SPDX-License-Identifier: Apache-2.0
"""Clusters whose nodes have shares mounted: an API that the data-processing client calls, and an engine."""
