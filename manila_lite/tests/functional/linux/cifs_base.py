# SPDX-License-Identifier: Apache-2.0
"""Base of tests of CIFS shares: users, a real smbd and a real client."""

import contextlib
import dataclasses
import shutil
import tempfile
import unittest
from pathlib import Path

import psutil
from oslo_utils import uuidutils

from manila_lite import values
from manila_lite.drivers.linux.protocols import check, user_list
from manila_lite.tests import smb_client
from manila_lite.tests.functional.linux import base


class _Conf:
    linux_cifs_users = '/there'
    linux_cifs_active_directory = driver_handles_share_servers = False
    linux_cifs_domain = None


LACKS = check.lacks_for_cifs(_Conf) or smb_client.missing()
needs_samba = unittest.skipIf(LACKS, f'CIFS shares need {LACKS}')


def processes(place):
    """Return the Samba processes of a state directory."""
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(f'{place}' in word and word.endswith('smb.conf') for word in one.cmdline()):
                found.append(one)
    return found


class Cifs:
    """Mixin for a test of one backend: users, and shares for them. The password of a user is the user's name."""

    @classmethod
    def setUpClass(cls):
        folder = Path(tempfile.mkdtemp(prefix='ml-users-'))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.users = folder / 'users'
        for name in ('alice', 'bobby', 'carol'):
            cls.know(name, name)
        cls.OPTIONS = f'linux_cifs_users = {cls.users}\n'
        super().setUpClass()

    @classmethod
    def know(cls, name, password):
        """Add the user to the operator's list."""
        user_list.put(cls.users, name, user_list.entry(name, password))

    def cifs(self, server=None, **more):
        """Create a share; return it with its export locations."""
        share = values.Share(uuidutils.generate_uuid(), 's', 'p', 1, 'CIFS', 'pool', server=server, **more)
        share = dataclasses.replace(share, export_locations=tuple(self.driver.create_share(share)))
        self.addCleanup(lambda: self.driver.delete_share(share))
        return share

    def rules(self, *rows):
        """Return access rules, given as (user, level)."""
        return tuple(
            values.AccessRule(f'r{number}', 'user', to, level) for number, (to, level) in enumerate(rows)
        )

    def allow(self, share, *rows):
        """Apply exactly these rules, given as (user, level), and check that none fails."""
        given = self.rules(*rows)
        results = self.driver.update_access(share, given)
        self.assertEqual(
            {rule.id: None for rule in given}, {rule_id: result.error for rule_id, result in results.items()}
        )

    def smb(self, share, user, command, *, at=0, text=None, password=None):
        """Run an SMB command as a client; return (success, output)."""
        return smb_client.call(
            self.client, share.export_locations[at].path, user, password or user, command, text=text
        )

    def writes(self, share, user, name='f', text='hello', **more):
        """Check that the client can write a file, and read it."""
        worked, said = self.smb(share, user, f'put local {name}', text=text, **more)
        self.assertTrue(worked, said)
        self.reads(share, user, name, text, **more)

    def reads(self, share, user, name='f', text='hello', **more):
        """Check that the client can read a file."""
        self.assertEqual((True, text), self.smb(share, user, f'get {name} there', **more))

    def denied(self, share, user, command='ls', why='NT_STATUS_ACCESS_DENIED', **more):
        """Check that the client is refused with this error."""
        worked, said = self.smb(share, user, command, **more)
        self.assertFalse(worked, f'it worked: {said}')
        self.assertIn(why, said)

    def session(self, share, user, password=None):
        """Return a client that stays connected until the test ends."""
        client = smb_client.Session(self.client, share.export_locations[0].path, user, password or user)
        self.addCleanup(client.close)
        return client

    def ensured(self, share, *rows):
        """Ensure the share; return the driver's result."""
        return self.driver.ensure_shares([values.EnsureTarget(share, self.rules(*rows))])[share.id]


class Plain(Cifs, base.LinuxTest):
    """A backend without share servers."""

    @property
    def client(self):
        """The namespace of a client."""
        return self.fabric.name('one')


class Directory(Plain):
    """A backend whose pool is a plain directory."""

    POOL = 'plain'
    PROTO = 'CIFS'

    @classmethod
    def make(cls):
        """Create the directory first: without it the pool would be a file with btrfs."""
        (cls.state / cls.POOL).mkdir(exist_ok=True)
        return super().make()
