# SPDX-License-Identifier: Apache-2.0
"""The release before and this one side by side, under load, in the steps of :doc:`/admin/upgrade`."""
