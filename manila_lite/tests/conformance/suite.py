# SPDX-License-Identifier: Apache-2.0
"""Runs of the published suite, from its own environment, and the outcomes of its tests."""

import configparser
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import subunit
import testtools

from manila_lite.tests.conformance.cloud import Cloud
from manila_lite.tests.services import environments
from manila_lite.tests.services.keystone import ADMIN, REGION

#: Settings of the gate's runs against the dummy driver, by mode.
_SETTINGS = Path(__file__).parent / 'settings'
#: As ``tempest run`` groups: the tests of a class stay in one worker.
_GROUPS = r'([^\.]*\.)*'
_STATUSES = {'success': 'pass', 'xfail': 'pass', 'skip': 'skip'}


def run(cloud: Cloud, mode: str, names: Iterable[str] = (), *, workers: int, part: str = 'api') -> dict[str, tuple[str, str]]:
    """Run the tests whose names match one of the regular expressions ``names``, or all of them.

    Return (outcome, reason) by the name of the test; outcomes are ``pass``, ``fail`` and ``skip``.
    """
    place = environments.find('tempest', 'bin/stestr')
    packages = next(place.glob('lib/python3*/site-packages'))
    _configure(cloud, mode)
    repo = cloud.state / 'results'
    stestr = [str(place / 'bin' / 'stestr'), '--top-dir', '.', '--test-path', f'./manila_tempest_tests/tests/{part}',
              '--repo-url', str(repo), '--group_regex', _GROUPS]
    env = {name: value for name, value in os.environ.items() if not name.startswith(('OS_', 'MANILA'))}
    env |= {'TEMPEST_CONFIG_DIR': str(cloud.state), 'TEMPEST_CONFIG': 'tempest.conf', 'PATH': f'{place}/bin:{env["PATH"]}',
            'PYTHON': str(place / 'bin' / 'python'), 'OS_TEST_TIMEOUT': '900'}
    repo.mkdir(exist_ok=True)
    subprocess.run([*stestr, 'run', '--concurrency', str(workers), *names], cwd=packages, env=env, stdin=subprocess.DEVNULL,
                   check=False)
    last = subprocess.run([*stestr, 'last', '--subunit'], cwd=packages, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, check=False)
    return outcomes(last.stdout)


def _configure(cloud: Cloud, mode: str) -> None:
    """Write the suite's configuration: the gate's settings, and where this cloud is."""
    config = configparser.RawConfigParser()
    config.read(_SETTINGS / f'{mode}.conf')
    here = {'DEFAULT': {'log_file': str(cloud.state / 'tempest.log')},
            'oslo_concurrency': {'lock_path': str(cloud.state / 'locks')},
            'auth': {'admin_username': ADMIN, 'admin_password': cloud.keystone.password, 'admin_project_name': ADMIN},
            'identity': {'uri_v3': cloud.keystone.url, 'region': REGION}}
    for section, values in here.items():
        for name, value in values.items():
            config.set(section, name, value)
    with (cloud.state / 'tempest.conf').open('w') as file:
        config.write(file)


def outcomes(stream: bytes) -> dict[str, tuple[str, str]]:
    """Read (outcome, reason) by test from results in the format of subunit."""
    found: dict[str, tuple[str, str]] = {}

    def note(test: dict) -> None:
        reason = test['details'].get('reason') or test['details'].get('traceback')
        outcome = _STATUSES.get(test['status'], 'fail')
        found[test['id'].partition('[')[0]] = outcome, reason.as_text().strip() if reason and outcome != 'pass' else ''

    result = testtools.StreamToDict(note)
    result.startTestRun()
    import io
    subunit.ByteStreamToStreamResult(io.BytesIO(stream), 'other').run(result)
    result.stopTestRun()
    return found
