# SPDX-License-Identifier: Apache-2.0
"""The driver cephfs on a host of its own: a process in a network namespace, as the share manager of another machine.

``python -m manila_lite.tests.functional.ceph.host NAME CONF STATE`` does what standard input says: on each line a list with the
name of a call, the share, and further arguments. Each answer is a list: whether it worked, and the result or the error.
``Host`` is that for tests.
"""

import contextlib
import dataclasses
import json
import subprocess
import sys
import threading
from pathlib import Path

from oslo_config import cfg

from manila_lite import errors, values
from manila_lite.drivers import load

#: Limit of a host, whatever hangs.
_SECONDS = 300
NAME, POOL = 'ceph', 'a.data'


class Refused(Exception):
    """The driver refused a call; ``final`` says whether for ever."""

    def __init__(self, said):
        self.final, message = said
        super().__init__(message)


class Host:
    """A driver in the namespace ``netns``. Each call is a method, with the share first."""

    def __init__(self, name, netns, conf, state):
        command = [
            'nsenter',
            f'--net=/run/netns/{netns}',
            sys.executable,
            '-m',
            __name__,
            name,
            str(conf),
            str(state),
        ]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._guard = threading.Timer(_SECONDS, self.process.kill)
        self._guard.daemon = True
        self._guard.start()
        self._lock = threading.Lock()

    def call(self, verb, share=None, *words):
        """Make one call; return its result.

        :raises Refused: the driver refused, or failed.
        """
        with self._lock:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write(
                    json.dumps([verb, share and dataclasses.asdict(share), *words]) + '\n'
                )
                self.process.stdin.flush()
            answer = self.process.stdout.readline()
        if not answer:
            raise Refused((False, 'the host ended'))
        worked, result = json.loads(answer)
        if not worked:
            raise Refused(result)
        return result

    def kill(self):
        """Kill the share manager; its daemons go on."""
        self._guard.cancel()
        self.process.kill()
        self.process.wait()


def _rules(given):
    return [values.AccessRule(f'r{number}', 'ip', to, level) for number, (to, level) in enumerate(given)]


class Calls:
    """The calls, with data of JSON."""

    def __init__(self, driver):
        self.driver = driver

    def setup(self, share):
        """Take the backend over."""
        self.driver.setup()

    def report(self, share):
        """Look after the gateway, as once a minute."""
        return [dataclasses.asdict(pool) for pool in self.driver.report()]

    def create(self, share):
        """Return the paths of the new share."""
        return [location.path for location in self.driver.create_share(share)]

    def delete(self, share):
        """Delete the share."""
        self.driver.delete_share(share)

    def grant(self, share, rules):
        """Apply exactly these rules, as [address, level]; return the errors in their order."""
        given = _rules(rules)
        results = self.driver.update_access(share, given)
        return [results[rule.id].error for rule in given]

    def ensure(self, share, rules):
        """Return what was repaired."""
        result = self.driver.ensure_shares([values.EnsureTarget(share, tuple(_rules(rules)))])[share.id]
        if result.error:
            raise errors.Final(result.error)
        return list(result.repaired)

    def inspect(self, share, rules):
        """Return what would be repaired."""
        return list(
            self.driver.inspect_shares([values.EnsureTarget(share, tuple(_rules(rules)))])[share.id].repaired
        )

    def manage(self, share, path):
        """Manage what is at the path; return the new paths."""
        return [location.path for location in self.driver.manage_share(share, path, {}).export_locations]

    def unmanage(self, share):
        """Unmanage the share."""
        self.driver.unmanage_share(share)

    def snapshot(self, share, name):
        """Take a snapshot."""
        self.driver.create_snapshot(values.Snapshot(name, share, share.size))

    def unsnapshot(self, share, name):
        """Delete a snapshot."""
        self.driver.delete_snapshot(values.Snapshot(name, share, share.size))


def _share(given):
    if given is None:
        return None
    locations = tuple(values.ExportLocation(**location) for location in given.pop('export_locations'))
    return values.Share(**given, export_locations=locations)


def main():
    """Do what standard input says, until its end."""
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[sys.argv[2]])
    calls = Calls(load.make('cephfs', NAME, f'{sys.argv[1]}@{NAME}', conf, Path(sys.argv[3])))
    for line in sys.stdin:
        verb, share, *words = json.loads(line)
        try:
            answer = [True, getattr(calls, verb)(_share(share), *words)]
        except Exception as bad:
            answer = [False, [isinstance(bad, errors.Final), f'{type(bad).__name__}: {bad}']]
        sys.stdout.write(json.dumps(answer) + '\n')
        sys.stdout.flush()


if __name__ == '__main__':
    main()
