# SPDX-License-Identifier: Apache-2.0
"""A cloud of three controllers and two storage hosts, each a set of namespaces of this machine: tools/cloud."""
