# SPDX-License-Identifier: Apache-2.0
"""Clusters whose nodes have shares mounted: an API for the data-processing client, and an engine."""
