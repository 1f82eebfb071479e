# SPDX-License-Identifier: Apache-2.0
"""Attacks of a tenant on a real cluster of Ceph, by the client itself, with the key of its share."""
