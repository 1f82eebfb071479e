# SPDX-License-Identifier: Apache-2.0
"""Options that do not fit a backend with several hosts are refused."""

import types

import testtools

from manila_lite.drivers.linux.failover import check

_FITS = {
    'driver_handles_share_servers': True,
    'linux_pool_path': '/dev/nothing',
    'linux_pool_type': 'auto',
    'linux_pool_fence': 'guard',
    'linux_fence_command': [],
    'linux_cifs_users': None,
    'linux_cifs_active_directory': False,
    'linux_peers': {},
    'linux_replication_domain': None,
    'linux_graceless': False,
}


def _problems(**options):
    return [
        f'{problem.what}: {problem.hint}'
        for problem in check.problems(types.SimpleNamespace(**_FITS | options))
    ]


class CheckTest(testtools.TestCase):
    def test_backend_with_several_hosts_is_accepted(self):
        self.assertEqual([], _problems())
        self.assertEqual(
            [], _problems(linux_pool_fence='command', linux_fence_command=['/bin/true', '{host}'])
        )

    def test_all_is_accepted_for_a_backend_with_one_host(self):
        self.assertEqual(
            [],
            _problems(
                linux_pool_fence='none',
                linux_graceless=True,
                linux_peers={'a@b': '/x'},
                linux_pool_path='/tmp',
                driver_handles_share_servers=False,
            ),
        )

    def test_what_does_not_fit_is_named(self):
        for name, value in (
            ('driver_handles_share_servers', False),
            ('linux_pool_path', '/etc/passwd'),
            ('linux_pool_path', '/tmp'),
            ('linux_cifs_active_directory', True),
            ('linux_peers', {'a@b': '/x'}),
            ('linux_replication_domain', 'd'),
            ('linux_graceless', True),
        ):
            [problem] = _problems(**{name: value})
            self.assertTrue(problem.startswith(name), problem)
            self.assertIn('not possible with linux_pool_fence = guard', problem)

    def test_fence_command_is_a_program_that_is_told_the_host(self):
        for words, why in (
            ([], 'is missing'),
            (['fence', '{host}'], 'there is no program fence'),
            (['/bin/nothing', '{host}'], 'there is no program'),
            (['/bin/true'], 'no argument has {host}'),
        ):
            [problem] = _problems(linux_pool_fence='command', linux_fence_command=words)
            self.assertIn(why, problem)

    def test_fence_command_without_effect_is_refused(self):
        for fence in ('none', 'guard'):
            [problem] = _problems(linux_pool_fence=fence, linux_fence_command=['/bin/true', '{host}'])
            self.assertIn('has no effect', problem)
