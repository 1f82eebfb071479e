# SPDX-License-Identifier: Apache-2.0
"""Clusters whose nodes have shares mounted: an API for the data-processing client, and an engine."""

from manila_lite import rpc

rpc.TOPICS['dataproc'] = 'mlite-dataproc'
