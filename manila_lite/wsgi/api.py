# SPDX-License-Identifier: Apache-2.0
"""The API for uwsgi, gunicorn and mod_wsgi: ``manila_lite.wsgi.api:application``.

Configuration files are those of ``MANILA_LITE_CONFIG_FILES`` (separated by ``:``), else the usual places.
Connections are made at the first request, so a server may import this before it forks.
"""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import os

from manila_lite.api import app
from manila_lite.cmd import setup

_files = [part for part in os.environ.get('MANILA_LITE_CONFIG_FILES', '').split(':') if part]
application = app.make(setup.services(setup.configure([f'--config-file={name}' for name in _files])))
