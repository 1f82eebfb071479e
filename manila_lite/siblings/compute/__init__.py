# SPDX-License-Identifier: Apache-2.0
"""Servers with shares: Nova's feature with virtiofs, for hosts without Nova."""

from manila_lite import rpc

rpc.TOPICS['compute'] = 'mlite-compute'
