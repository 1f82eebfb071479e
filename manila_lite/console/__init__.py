# SPDX-License-Identifier: Apache-2.0
"""The console: a page for browsers, of static files that talk to the public API with the rights of their user."""
