# SPDX-License-Identifier: Apache-2.0
"""The way to a Ceph cluster: commands to its managers, monitors and metadata servers, each with a deadline."""
