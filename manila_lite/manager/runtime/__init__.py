# SPDX-License-Identifier: Apache-2.0
"""The share manager of one backend: its service, lease and start."""
