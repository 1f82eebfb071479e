# SPDX-License-Identifier: Apache-2.0
"""The API for uwsgi, gunicorn and mod_wsgi: ``manila_lite.wsgi.api:application``.

Configuration files are those of ``MANILA_LITE_CONFIG_FILES`` (separated by ``:``), else the usual places; any option
can be set by a variable as well (``OS_DEFAULT__HOST``, ``OS_DATABASE__CONNECTION``), which wins over the files.
Connections and threads are made at the first request, so a server may import this before it forks.
"""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import atexit
import os

from manila_lite import encryption, key_manager
from manila_lite.api.http import app, request_notes
from manila_lite.cmd import monitor, preflight, umask, setup

umask.set_umask()
_files = [part for part in os.environ.get('MANILA_LITE_CONFIG_FILES', '').split(':') if part]
_services = setup.services(
    setup.configure([f'--config-file={name}' for name in _files], program='manila-api')
)
setup.say_start('manila-api')
_notes = request_notes.Notes(_services)
_app = app.make(_services, note=_notes.note)
preflight.check_api(_services.conf)
key_manager.check(_services.conf)
encryption.check(_services.conf)
atexit.register(_services.bus.close)  # wake-ups that were taken leave before the process does
atexit.register(_notes.close)  # and so do notes
application = monitor.measured(_app, _services.conf, 'manila-api')
