# SPDX-License-Identifier: Apache-2.0
"""The calls of the driver interface, one file for each ability: each call goes to the service that does the work."""
