# SPDX-License-Identifier: Apache-2.0
"""The protocols of CephFS shares."""
