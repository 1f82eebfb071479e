# SPDX-License-Identifier: Apache-2.0
"""Copies of whole shares that this host makes, for backups and for migrations: mounts as a client, rsync, and protections."""
