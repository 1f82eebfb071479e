# SPDX-License-Identifier: Apache-2.0
"""The data mover: copies of whole shares that this host makes, for backups and for migrations, with one set of protections."""
