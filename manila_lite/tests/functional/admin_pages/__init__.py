# SPDX-License-Identifier: Apache-2.0
"""The administrator's pages as written work: a reader with a fresh Debian types each command of a page, and sees it work."""
