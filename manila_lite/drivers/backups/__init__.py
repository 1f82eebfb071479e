# SPDX-License-Identifier: Apache-2.0
"""Backups by copies that this host makes, for every driver: the jobs, and a driver that mounts the shares as a client does."""
