# SPDX-License-Identifier: Apache-2.0
"""A Keystone for a scenario, and the life of a share as Keystone's users see it."""

import contextlib

import yaml
from keystoneauth1 import identity

from manila_lite.tests.services.keystone import ADMIN, REGION, Keystone
from scenarios import settings
from scenarios.one_share import OneShare
from scenarios.service import Trouble, begin

_SECTION = """[keystone_authtoken]
www_authenticate_uri = {auth_url}
auth_type = password
{login}
"""
#: More clouds beside the user's: by the end of their names, the user and the project.
_OTHERS = {'-admin': (ADMIN, ADMIN), '-viewer': ('viewer', settings.PROJECT), '-other': ('other', 'other')}


class Identity:
    """A Keystone below a directory; it ends with this process in any case."""

    STEP = 'Keystone starts, with users in projects, and roles'

    def __init__(self, state):
        self._state = state
        self._keystone = Keystone()
        self._there = contextlib.ExitStack()

    def start(self):
        """Start Keystone with its users."""
        self._state.mkdir(parents=True, exist_ok=True)
        self._keystone.root = str(self._state)
        begin('Keystone', self._keystone, self._there)

    def told(self):
        """Return a line about it."""
        return f'Identity at {self._keystone.url}'

    def stop(self):
        """End Keystone."""
        self._there.close()

    def login(self, api):
        """Set the API's URL in the catalog; return the settings for logins of clients and for the API's checks of tokens."""
        self._keystone.announce(api)
        service = self._keystone.login('manila', 'service')
        clouds = {
            f'{settings.CLOUD}{end}': self._cloud(*who)
            for end, who in {'': (settings.USER, settings.PROJECT), **_OTHERS}.items()
        }
        return settings.Login(
            'keystone',
            _SECTION.format(
                login='\n'.join(f'{name} = {value}' for name, value in service.items()), **service
            ),
            yaml.safe_dump({'clouds': clouds}, sort_keys=False),
        )

    def auth(self, user):
        """Return the login of the user, or of the administrator."""
        project = ADMIN if user == settings.ADMIN else settings.PROJECT
        return identity.V3Password(**self._keystone.login(user, project))

    def _cloud(self, user, project):
        """Return an entry of ``clouds.yaml``, with fields that clients in Python and in Go both know."""
        return {
            'auth_type': 'password',
            'auth': self._keystone.login(user, project),
            'region_name': REGION,
            'interface': 'public',
            'identity_api_version': '3',
            'shared_file_system_default_microversion': '2.82',
        }


class LoggedIn(OneShare):
    """The life of a share that another user of its project may see; users of other projects cannot."""

    def through(self):
        """Run all steps but the deletion. Return the command to mount the share by hand, if that is possible."""
        self._catalog()
        mount = super().through()
        self._people()
        return mount

    def _catalog(self):
        demo = self.demo
        with demo.step('The API is in the catalog'):
            catalog = {entry['Type']: entry['Name'] for entry in demo.show('catalog', 'list')}
            if 'share' in catalog or not {'sharev2', 'shared-file-system'} <= set(catalog):
                raise Trouble(f'the catalog has {catalog}')
            demo.say(', '.join(f'{name} ({kind})' for kind, name in sorted(catalog.items())))

    def _people(self):
        demo = self.demo
        with demo.step('Who may see the share, and who may do more'):
            clouds = (f'{settings.CLOUD}-{who}' for who in ('viewer', 'other'))
            seen = [demo.show('--os-cloud', cloud, 'share', 'list') for cloud in clouds]
            if [len(shares) for shares in seen] != [1, 0]:
                raise Trouble(f'they see {seen}')
            demo.say('viewer, a reader of the project, sees it; other, of another project, does not')
            words = ('--os-cloud', f'{settings.CLOUD}-viewer', 'share', 'delete', self.share)
            demo.say(f'$ openstack {" ".join(words)}')
            said = demo.openstack(*words, works=False)
            if '403' not in said:
                raise Trouble(f'viewer may delete it, or: {said}')
            demo.say(f'viewer may not delete it: {said.splitlines()[0]}')
