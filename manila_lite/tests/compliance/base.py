# SPDX-License-Identifier: Apache-2.0
"""Compliance suite for drivers. A driver of a third party runs it like ``test_dummy.py``: write a binding, then list
the classes.

A binding says how to configure the driver, and does from outside what clients and accidents do: write into a
share, fill it, lose power. Everything else goes through the contract alone.
"""

import dataclasses
import os
import pickle
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import fixtures
import testtools
from oslo_config import cfg
from oslo_utils import uuidutils

from manila_lite import values
from manila_lite.drivers import load
from manila_lite.drivers.interface.base import ShareDriver
from manila_lite.tests import forks, waiting

NAME = 'compliance'
HOST = f'here@{NAME}'
#: Seconds until a call counts as stuck.
STUCK = waiting.LIMIT


def make_driver(name: str, config_file: str, state_dir: str) -> ShareDriver:
    """Return a driver made as the manager makes it. The process that will be killed uses it too."""
    conf = cfg.ConfigOpts()
    conf([], project='manila_lite', default_config_files=[config_file])
    return load.make(name, NAME, HOST, conf, Path(state_dir))


class Binding(testtools.TestCase):
    """A driver on a fresh backend. Subclasses name the driver, and say how to reach its storage behind its back."""

    #: The driver's entry point.
    DRIVER = ''
    #: Rules that the driver can express, as (type, to, level).
    GOOD = (('ip', '10.1.0.5', 'rw'), ('ip', '10.2.0.0/24', 'ro'))
    OTHER = (('ip', '10.3.0.7', 'rw'), ('ip', '10.1.0.5', 'ro'))
    #: Rules that it cannot express.
    BAD = (('telepathy', 'joe', 'rw'), ('ip', '10.4.0.1', 'admin'), ('ip', 'no address; }', 'rw'))
    #: When a call is killed: seconds after its begin, or a value that ``kill`` understands.
    MOMENTS: tuple = (0.0, 0.02, 0.2)
    #: The share server of new shares; see ``servers.py``.
    server: values.ShareServer | None = None

    def driver_call(self, method: str, *args):
        """Call the driver that the test has at that time."""
        return getattr(self.driver, method)(*args)

    def options(self) -> dict[str, str]:
        """Return the backend's section of the configuration."""
        raise NotImplementedError

    def write(self, share: values.Share, text: str) -> None:
        """Replace the content of the share by ``text``."""
        raise NotImplementedError

    def read(self, share: values.Share) -> str:
        """Return the text that was written into the share, or ''."""
        raise NotImplementedError

    def fill(self, share: values.Share, gib: float) -> None:
        """Use ``gib`` GiB of the share."""
        raise NotImplementedError

    def limit(self, share: values.Share) -> float:
        """Return the size in GiB that the backend enforces."""
        raise NotImplementedError

    def in_force(self, share: values.Share) -> set[tuple[str, str, str]]:
        """Return the rules in force as (type, to, level); none when the share is not exported."""
        raise NotImplementedError

    def in_force_of_snapshot(self, snapshot: values.Snapshot) -> set[tuple[str, str, str]]:
        """Return the rules in force of a snapshot that can be mounted, as ``rules_in_force`` does."""
        raise NotImplementedError

    def lose_power(self) -> None:
        """Simulate a reboot: all that does not outlive it is lost. Leaves ``self.driver`` made anew and set up."""
        raise NotImplementedError

    def setUp(self):
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path)
        self.state_dir = self.root / NAME
        self.config_file = self.root / 'manila.conf'
        lines = [f'{name} = {value}' for name, value in self.options().items()]
        self.config_file.write_text('\n'.join([f'[{NAME}]', *lines, '']))
        self.driver = self.new_driver()
        self.addCleanup(self.shut_down)
        self.driver.setup()

    def new_driver(self) -> ShareDriver:
        return make_driver(self.DRIVER, str(self.config_file), str(self.state_dir))

    def shut_down(self) -> None:
        self.driver.shutdown()

    def restart(self) -> None:
        """Stop the driver and make it anew, as when the process restarts and the machine stays up."""
        self.driver.shutdown()
        self.driver = self.new_driver()
        self.driver.setup()

    def kill(self, method: str, args: tuple, moment: float) -> None:
        """Kill a process that runs the call, ``moment`` seconds after the call began."""
        victim = self.victim(method, args)
        time.sleep(moment)  # sleeps: any moment of the call will do, and no event marks it
        victim.kill()
        victim.wait(STUCK)

    def victim(self, method: str, args: tuple) -> forks.Process:
        """Return a new process that has just begun the call."""
        report_end, write_end = os.pipe()
        with (
            tempfile.TemporaryFile() as asked,
            tempfile.TemporaryFile() as err,
            open(report_end, 'rb') as out,
        ):
            pickle.dump((method, args), asked)
            asked.seek(0)
            with open(write_end, 'wb') as say:
                victim = forks.start(
                    f'{__package__}.victim:main',
                    self.DRIVER,
                    self.config_file,
                    self.state_dir,
                    stdin=asked,
                    stdout=say,
                    stderr=err,
                )
            self.addCleanup(victim.kill)
            if out.readline() != b'begun\n':
                victim.wait(STUCK)
                err.seek(0)
                self.fail(err.read().decode())
        return victim

    def needs(self, ability: type | None) -> None:
        """Fail if the driver does not claim the ability: its class leaves out the tests about that, and says so."""
        if ability:
            self.assertIsInstance(self.driver, ability)

    def a_share(self, size: int = 1, **changes) -> values.Share:
        """Return a share that is not on the backend yet, and that is deleted at the end of the test."""
        instance_id = uuidutils.generate_uuid()
        share = values.Share(
            **{
                'id': instance_id,
                'share_id': uuidutils.generate_uuid(),
                'size': size,
                'proto': 'NFS',
                'project_id': 'a-project',
                'pool': self.driver.report()[0].name,
                'server': self.server,
            }
            | changes
        )
        self.addCleanup(lambda: self.driver.delete_share(share))
        return share

    def made_share(self, size: int = 1, content: str = 'first', rules: Iterable = ()) -> values.Share:
        """Return a share that is on the backend and holds ``content``, with its export locations."""
        share = self.a_share(size)
        share = dataclasses.replace(share, export_locations=tuple(self.driver.create_share(share)))
        if rules:
            self.driver.update_access(share, self.rules(rules))
        self.write(share, content)
        return share

    def a_snapshot(self, share: values.Share) -> values.Snapshot:
        """Return a snapshot that is not taken yet, and that is deleted at the end of the test."""
        snapshot = values.Snapshot(uuidutils.generate_uuid(), share, share.size)
        self.addCleanup(lambda: self.driver.delete_snapshot(snapshot))
        return snapshot

    def made_snapshot(self, share: values.Share) -> values.Snapshot:
        """Return a snapshot that was taken."""
        snapshot = self.a_snapshot(share)
        return dataclasses.replace(snapshot, provider_location=self.driver.create_snapshot(snapshot))

    def rules(self, rows: Iterable) -> list[values.AccessRule]:
        """Return access rules with new ids."""
        return [values.AccessRule(uuidutils.generate_uuid(), *row) for row in rows]

    def assert_locations(self, locations) -> None:
        """Check that the locations are all different, and in the order of the API: preferred, others, administrators' only."""
        self.assertTrue(locations)
        ranks = [(location.is_admin_only, not location.preferred) for location in locations]
        self.assertEqual(sorted(ranks), ranks)
        self.assertEqual(len(locations), len({location.path for location in locations}))

    def ensured(self, share: values.Share, rules: Iterable = ()) -> values.EnsureResult:
        """Return the driver's result of ensuring one share."""
        return self.driver.ensure_shares([values.EnsureTarget(share, tuple(self.rules(rules)))])[share.id]


class Background(threading.Thread):
    """Work in a thread beside the test, whose error is raised in the test."""

    def __init__(self, work, *args):
        super().__init__(daemon=True)
        self.work, self.args, self.answer, self.error = work, args, None, None
        self.start()

    def run(self) -> None:
        try:
            self.answer = self.work(*self.args)
        except Exception as error:
            self.error = error

    def ended(self):
        """Wait for the end of the work, and return its answer."""
        self.join(STUCK)
        if self.is_alive():
            raise AssertionError(f'{self.work} is stuck')
        if self.error:
            raise self.error
        return self.answer
