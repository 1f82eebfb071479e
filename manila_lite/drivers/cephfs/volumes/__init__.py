# SPDX-License-Identifier: Apache-2.0
"""The subvolumes and data pools of a file system, as the cluster's volumes module shows them."""
