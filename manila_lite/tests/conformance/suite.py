# SPDX-License-Identifier: Apache-2.0
"""Runs of the published suite, from its own environment, and the outcomes of its tests."""

import configparser
import io
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import subunit
import testtools

from manila_lite.tests.conformance.cloud import Cloud
from manila_lite.tests.conformance.outcomes import FAIL, PASS, SKIP, Outcome
from manila_lite.tests.services import environments
from manila_lite.tests.services.keystone import ADMIN, REGION

#: Settings of the gate's runs against the dummy driver: those of all modes, and of each.
_SETTINGS = Path(__file__).parent / 'settings'
#: The tests of a class stay in one worker.
_GROUPS = r'([^\.]*\.)*'
_OUTCOMES = {'success': PASS, 'xfail': PASS, 'skip': SKIP}


def run(cloud: Cloud, names: Iterable[str] = (), *, workers: int) -> dict[str, Outcome]:
    """Run the tests whose names match one of the regular expressions ``names``, or all. Return their outcomes."""
    place = environments.find('tempest', 'bin/stestr')
    packages = next(place.glob('lib/python3*/site-packages'))
    _configure(cloud)
    top, tests = cloud.TESTS
    stestr = [
        str(place / 'bin' / 'stestr'),
        '--top-dir',
        top,
        '--test-path',
        tests,
        '--repo-url',
        str(cloud.state / 'results'),
        '--group_regex',
        _GROUPS,
    ]
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(('OS_', 'MANILA_LITE', 'PYTHON'))
    }
    env |= {
        'TEMPEST_CONFIG_DIR': str(cloud.state),
        'TEMPEST_CONFIG': 'tempest.conf',
        'PATH': f'{place}/bin:{env["PATH"]}',
        'PYTHON': str(place / 'bin' / 'python'),
        'OS_TEST_TIMEOUT': '600',
        **cloud.ENVIRONMENT,
    }
    (cloud.state / 'results').mkdir(exist_ok=True)

    def call(*words: str, **how: Any) -> subprocess.CompletedProcess:
        return subprocess.run(
            [*stestr, *words], cwd=packages, env=env, stdin=subprocess.DEVNULL, check=False, **how
        )

    call('run', '--concurrency', str(min(workers, cloud.WORKERS)), *names)
    return outcomes(call('last', '--subunit', stdout=subprocess.PIPE).stdout)


def _configure(cloud: Cloud) -> None:
    """Write the suite's configuration: the gate's settings, and where this cloud is."""
    config = configparser.RawConfigParser()
    config.read(_SETTINGS / f'{name}.conf' for name in cloud.settings)
    config.read_dict(
        {
            'DEFAULT': {'log_file': str(cloud.state / 'tempest.log')},
            'oslo_concurrency': {'lock_path': str(cloud.state / 'locks')},
            'auth': {
                'admin_username': ADMIN,
                'admin_password': cloud.keystone.password,
                'admin_project_name': ADMIN,
            },
            'identity': {'uri_v3': cloud.keystone.url, 'region': REGION},
        }
    )
    with (cloud.state / 'tempest.conf').open('w') as file:
        config.write(file)


def outcomes(stream: bytes) -> dict[str, Outcome]:
    """Read the outcomes by the names of the tests, without their attributes, from a stream of subunit."""
    found: dict[str, Outcome] = {}

    def note(test: dict) -> None:
        outcome = _OUTCOMES.get(test['status'], FAIL)
        why = test['details'].get('reason') or test['details'].get('traceback')
        found[test['id'].partition('[')[0]] = Outcome(
            outcome, why.as_text().strip() if why and outcome != PASS else ''
        )

    result = testtools.StreamToDict(note)
    result.startTestRun()
    subunit.ByteStreamToStreamResult(io.BytesIO(stream), 'other').run(result)
    result.stopTestRun()
    return found


def report(file: BinaryIO, good: Iterable[str], bad: dict[str, str]) -> None:
    """Write tests that passed, and those that failed with the reason, as a stream of subunit."""
    stream = subunit.StreamResultToBytes(file)
    for name in good:
        stream.status(name, 'success')
    for name, reason in bad.items():
        stream.status(
            name,
            'fail',
            file_name='traceback',
            file_bytes=reason.encode(),
            eof=True,
            mime_type='text/plain; charset=utf8',
        )
