# SPDX-License-Identifier: Apache-2.0
"""The built-in HTTP server: connections, framing, and threads that answer. Runs any WSGI application."""
