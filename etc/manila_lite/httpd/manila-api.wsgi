# SPDX-License-Identifier: Apache-2.0
"""What mod_wsgi loads."""

from manila_lite.wsgi.api import application  # noqa: F401
