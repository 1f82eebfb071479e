# SPDX-License-Identifier: Apache-2.0
"""The commands for operations (``client/``), against a real API, as members and as administrators."""

import re
import socket
import time

from manila_lite.cmd.api import Api
from manila_lite.tests import process, waiting
from manila_lite.tests.functional import base, commandline
from manila_lite.tests.functional.clients import terminal

_BACKEND = 'migration_driver_continue_update_interval = 3600\ndummy_pool_size_gb = 100\n'
_ALL = {'writable': True, 'nondisruptive': False, 'preserve_snapshots': True, 'preserve_metadata': True}
#: A percentage between none and all, as the bar has it.
_PART_OF_IT = re.compile(r'\b(25|50|75)%')
_FAILED = 'It failed; an administrator can see the cause.'


class OperationTest(commandline.OverHttp, base.ServiceTest):
    """The commands, with tokens that name user, project and roles."""

    BACKENDS = dict.fromkeys(('alpha', 'beta'), _BACKEND)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.turn)
        self.user = self.caller()

    def env_of(self, roles='member,reader', project='p'):
        """Return the environment of a user."""
        return self.env(
            OS_AUTH_TYPE='admin_token', OS_ENDPOINT=f'{self.url}/v2', OS_TOKEN=f'u:{project}:{roles}'
        )

    def turn(self, *knobs):
        """Set the knobs of all backends."""
        for backend in self.BACKENDS:
            self.service.knob(backend, *knobs)

    def running(self, *words, at_terminal=False, **more):
        """Start a command; return it."""
        running = terminal.Running(
            'share', 'operation', *words, env=self.env_of(**more), at_terminal=at_terminal
        )
        self.addCleanup(running.close)
        return running

    def listed(self, *words, **more):
        """Return the rows of a list."""
        return self.cli('share', 'operation', 'list', *words, env=self.env_of(**more))

    def newest(self, resource):
        """Return the newest operation of a resource, as the API shows it."""
        return self.admin.ok('GET', f'/operations?resource_id={resource["id"]}&all_projects=1')['operations'][
            0
        ]


class Lists(OperationTest):
    def test_member_sees_the_operations_of_the_project_and_no_others(self):
        mine, theirs = self.user.share(name='mine'), self.caller(project='q').share(name='theirs')
        self.assertEqual([mine['id']], [row['Resource ID'] for row in self.listed('--resource', 'mine')])
        self.assertNotIn(theirs['id'], [row['Resource ID'] for row in self.listed('--all-projects')])
        self.assertEqual([], self.listed('--resource', theirs['id'], '--all-projects', '--project', 'q'))
        hidden = self.newest(theirs)['id']
        for words in (
            ('show', hidden),
            ('show', hidden, '--wait'),
            ('wait', hidden),
            ('wait', theirs['id']),
            ('wait', 'theirs'),
        ):
            said = self.run_cli('share', 'operation', *words, env=self.env_of(), fails=True)
            self.assertRegex(said, 'could not be found|No operation of|No Share found')
        self.assertIn(
            'only administrators',
            self.run_cli('share', 'operation', 'list', '--host', 'test@alpha', env=self.env_of(), fails=True),
        )
        shown = self.cli('share', 'operation', 'show', self.newest(mine)['id'], env=self.env_of())
        self.assertEqual(
            ('share.create', mine['id'], 'done', 'p'),
            tuple(shown[name] for name in ('kind', 'resource_id', 'state', 'project_id')),
        )
        self.assertNotIn('host', shown)

    def test_administrator_sees_all_projects_and_hosts(self):
        theirs = self.caller(project='q').share()
        [row] = self.listed('--resource', theirs['id'], '--all-projects', '--long', roles='admin')
        self.assertEqual(
            ('share', 'q', 1, 1, None),
            tuple(row[name] for name in ('Resource Type', 'Project ID', 'Step', 'Steps', 'Error')),
        )
        self.assertIn(row['Host'], ('test@alpha', 'test@beta'))
        self.assertEqual([], self.listed('--resource', theirs['id'], roles='admin'))
        self.assertEqual(
            [row['ID']],
            [one['ID'] for one in self.listed('--project', 'q', '--resource', theirs['id'], roles='admin')],
        )
        self.assertIn('host', self.cli('share', 'operation', 'show', row['ID'], env=self.env_of('admin')))

    def test_filters_pages_and_order(self):
        self.service.conf.set_override('osapi_max_limit', 2)
        self.addCleanup(self.service.conf.clear_override, 'osapi_max_limit')
        user = self.caller(project='pages')
        shares = [user.share() for _ in range(5)]
        lost = user.share(size=400, wait='error')
        rows = self.listed(project='pages')
        self.assertEqual(
            [share['id'] for share in (lost, *reversed(shares))], [row['Resource ID'] for row in rows]
        )
        for words, some in (
            (['--limit', '3'], rows[:3]),
            (['--marker', rows[1]['ID'], '--limit', '3'], rows[2:5]),
            (['--sort', 'created_at'], rows[::-1]),
            (['--sort', 'created_at:desc'], rows),
            (['--state', 'failed'], rows[:1]),
            (['--kind', 'share.create', '--state', 'done'], rows[1:]),
            (['--kind', 'share.extend'], []),
            (['--resource-type', 'snapshot'], []),
            (['--request-id', self.newest(shares[0])['request_id']], rows[5:]),
        ):
            self.assertEqual(some, self.listed(*words, project='pages'), words)
        for words in (['--limit', '0'], ['--limit', 'x'], ['--sort', 'id:up'], ['--state', 'odd']):
            self.assertIn(
                'error: argument',
                self.run_cli('share', 'operation', 'list', *words, env=self.env_of(), fails=True),
            )
        self.assertIn(
            '400', self.run_cli('share', 'operation', 'list', '--sort', 'odd', env=self.env_of(), fails=True)
        )


class Waits(OperationTest):
    def test_bar_at_a_terminal_and_lines_in_a_pipe_until_a_migration_is_complete(self):
        share = self.admin.share(name='moving', scheduler_hints={'only_host': 'test@alpha#pool1'})
        for _ in range(3):
            snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})[
                'snapshot'
            ]
            self.admin.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'available')
        self.service.knob('beta', 'share_migration_start:hang')
        began = time.monotonic()
        self.admin.action(share['id'], 'migration_start', {'host': 'test@beta#pool1', **_ALL})
        bar = self.running('show', self.newest(share)['id'], '--wait', at_terminal=True)
        lines = self.running('wait', 'moving')
        bar.says('share.migrate: start, step 3 of 8')
        lines.says('start, step 3 of 8')
        # The first look of the copy ends with a part of it; the second one does not end before the bar has shown that.
        self.service.knob('beta', 'share_migration_continue:hang_after')
        store = self.service.managers['beta'].driver.store
        base.eventually(lambda: list(store.snapshots.all()), 'nothing is copied')
        self.service.knob('beta', 'share_migration_continue:hang')
        bar.says(_PART_OF_IT)
        self.service.knob('beta', '')
        bar.says('wait, step 5 of 8')
        lines.says('wait, step 5 of 8')
        self.admin.action(share['id'], 'migration_complete')
        self.assertEqual((0, 0), (bar.ended(), lines.ended()), f'{bar.out}\n{lines.out}\n{lines.err}')
        self.assertIn('━', bar.out)
        self.assertIn('\x1b[', bar.out)
        self.assertRegex(bar.out, r'\| state +\| done')
        told = lines.out.splitlines()
        self.assertEqual(f'share.migrate of {share["id"]}: done', told[-1])
        self.assertNotIn('\x1b', lines.out)
        self.assertEqual(
            [], [line for line in told if not line.startswith(f'share.migrate of {share["id"]}: ')]
        )
        self.assertLessEqual(len(told), 2 + (time.monotonic() - began) / 5)

    def test_result_of_show_is_alone_in_its_pipe(self):
        share = self.user.share()
        running = self.running('show', self.newest(share)['id'], '--wait', '-f', 'value', '-c', 'state')
        self.assertEqual(
            (0, 'done\n', f'share.create of {share["id"]}: done\n'),
            (running.ended(), running.out, running.err),
        )

    def test_failure_is_told_and_is_the_exit_status(self):
        self.turn('extend_share:fail')
        share = self.user.share()
        self.user.action(share['id'], 'extend', {'new_size': 2})
        op = self.newest(share)['id']
        for words, roles, sentence in (
            (('wait', share['id']), 'member', _FAILED),
            (('wait', op), 'member', _FAILED),
            (('show', op, '--wait'), 'member', _FAILED),
            (('wait', op), 'admin', 'lost touch'),
        ):
            running = self.running(*words, roles=f'{roles},reader')
            self.assertEqual(1, running.ended())
            self.assertIn(sentence, running.err)
            self.assertNotIn('Traceback', running.err)

    def test_open_operations_of_a_resource_are_awaited_one_by_one(self):
        share = self.user.share()
        self.turn('update_access:hang', 'extend_share:hang')
        self.user.action(share['id'], 'allow_access', {'access_type': 'ip', 'access_to': '192.0.2.1'})
        self.user.action(share['id'], 'extend', {'new_size': 2})
        running = self.running('wait', share['id'])
        running.says('access.sync')
        self.turn('extend_share:hang')
        running.says('share.extend')
        self.turn()
        self.assertEqual(0, running.ended())
        ends = [line for line in running.out.splitlines() if line.endswith(': done')]
        self.assertEqual([f'{kind} of {share["id"]}: done' for kind in ('access.sync', 'share.extend')], ends)

    def test_operation_of_a_deleted_share_is_awaited(self):
        share = self.user.share()
        self.turn('delete_share:hang')
        self.user.ok('DELETE', f'/shares/{share["id"]}', wait=False)
        running = self.running('wait', share['id'])
        running.says('share.delete')
        self.turn()
        self.assertEqual((0, True), (running.ended(), running.out.endswith(': done\n')))

    def test_ctrl_c_ends_the_command_and_not_the_operation(self):
        self.turn('create_share:hang')
        share = self.user.share(wait=None)
        running = self.running('wait', share['id'], at_terminal=True)
        running.says('share.create')
        running.interrupt()
        self.assertEqual(130, running.ended())
        self.assertNotIn('Traceback', running.out)
        self.turn()
        self.user.wait(f'/shares/{share["id"]}', 'share', 'available')

    def test_waiting_outlives_a_restart_of_the_api(self):
        # No client gets this port while nobody listens there.
        self.service.conf.set_override('osapi_share_listen_port', process.free_port())
        self.addCleanup(self.service.conf.clear_override, 'osapi_share_listen_port')
        api = Api(self.service.services)
        api.start()
        self.turn('create_share:hang')
        share = self.user.share(wait=None)
        url = f'http://127.0.0.1:{api.port}/v2'
        running = terminal.Running(
            'share',
            'operation',
            'wait',
            share['id'],
            at_terminal=False,
            unhurried=True,
            env=self.env_of() | {'OS_ENDPOINT': url, 'OS_SHARED_FILE_SYSTEM_ENDPOINT_OVERRIDE': url},
        )
        self.addCleanup(running.close)
        running.says('share.create')
        api.stop()
        with socket.create_server(('127.0.0.1', api.port)) as away:
            away.settimeout(waiting.LIMIT)
            for _ in range(2):
                away.accept()[0].close()  # that is how a dying API answers
        self.turn()
        again = Api(self.service.services)
        again.start()
        self.addCleanup(again.stop)
        self.assertEqual(0, running.ended(), running.err)
        self.assertIn(': done', running.out)
