# SPDX-License-Identifier: Apache-2.0
"""Plans of the work at a backend, one file per resource."""
