# SPDX-License-Identifier: Apache-2.0
"""``manila-manage evacuate`` beside a running service: the plan, the question, the progress, and the exit statuses."""

import os
import pty
import tempfile

from oslo_utils import uuidutils

from manila_lite.db.queries import evacuation as queries
from manila_lite.db.queries import operations
from manila_lite.drivers.dummy.driver import DummyDriver
from manila_lite.tests import forks, waiting
from manila_lite.tests.functional import base, manage
from manila_lite.tests.functional.migrations import test_evacuation, test_host_assisted

_ON = 'share_migration_start:hang'


class EvacuateTest(test_evacuation.EvacuationTest, manage.ManageTest):
    """Base class of tests of the commands. Shares of ``disk`` go to ``other``."""

    def begin(self, *words, status=0, host='test@disk'):
        """Run ``evacuate start``, which must end with this exit status; return its output and its error output."""
        return self.manage('evacuate', 'start', host, '--every', '0.1', *words, status=status)

    def watch(self, run, status=0):
        """Run ``evacuate watch``, which must end with this exit status; return its output and its error output."""
        return self.manage('evacuate', 'watch', run, '--every', '0.1', status=status)

    def background(self, *words, stdin=None):
        """Start a command that goes on meanwhile. Return a function that waits for its end, and says (status, output)."""
        out = self.enterContext(tempfile.TemporaryFile('w+'))
        process = forks.start(
            'manila_lite.cmd.manage:main',
            f'--config-file={self.service.state / "manila_lite.conf"}',
            'evacuate',
            *words,
            stdin=stdin,
            stdout=out,
            stderr=out,
        )
        self.addCleanup(process.kill)

        def end():
            status = process.wait(waiting.LIMIT)
            out.seek(0)
            return status, out.read()

        return end

    def untouched(self, share):
        """Check that the share is where it was, and that its backend may get new shares."""
        self.assertEqual(('test@disk#pool1', (False, None)), (self.host(share), self.disabled('disk')))

    def gone(self, share):
        """Check that the share has moved, and that its backend gets no new shares."""
        self.assertEqual(('test@other#pool1', (True, 'evacuated')), (self.host(share), self.disabled('disk')))

    def runs(self):
        """Return the open operations that evacuate something, or plan that."""
        return [
            row
            for row in self.admin.ok('GET', '/operations?state=open&all_tenants=1')['operations']
            if row['kind'] == queries.KIND
        ]


class Start(EvacuateTest):
    """``evacuate start``."""

    def test_plan_is_shown_and_nothing_begins_where_nobody_can_answer(self):
        share = self.plain()
        out, err = self.begin(status=2)
        self.assertIn('nobody can answer here; add --yes', err)
        self.assertRegex(
            out,
            rf'planned +100 % +1 of 1 resources\nresource_type .*\n'
            rf'share +{share["id"]} +1 +1 +test@disk#pool1 +test@other +mount again\n$',
        )
        self.untouched(share)
        self.assertEqual([], self.runs())

    def test_dry_run_for_programs(self):
        share = self.plain()
        self.assertIn(share['id'], self.begin('--dry-run')[0])
        [move] = self.listed('evacuate', 'start', 'test@disk', '--dry-run')
        self.assertEqual(
            (share['id'], 'test@other', 'mount again'), (move['id'], move['to'], move['clients'])
        )
        self.assertEqual([], self.listed('evacuate', 'start', 'test@other', '--dry-run'))
        self.untouched(share)

    def test_everything_moves(self):
        share = self.plain()
        out, err = self.begin('--yes', '--at-once', '1')
        self.assertRegex(out, r'\nempty +100 % +1 of 1 resources\ntest@disk is disabled and .*\n$')
        self.assertEqual(2, err.count('operation '), err)
        self.gone(share)

    def test_named_destination(self):
        share = self.plain()
        self.begin('--yes', '--to', 'test@far', '--to', 'test@new')
        self.assertEqual('test@far#pool1', self.host(share))

    def test_reasons_of_what_stays_are_printed(self):
        moves, stays = self.plain(), self.plain(share_type='copied')
        reason = f'{stays["id"]} stays: .*has a share type with replicas'
        out, _ = self.begin('--dry-run', status=1)
        self.assertRegex(out, reason)
        _, err = self.begin('--yes', '--dry-run', '--format', 'json', status=1)
        self.assertRegex(err, reason)
        out, _ = self.begin('--yes', status=1)
        self.assertRegex(
            out.partition('evacuating')[2], rf'(?s)failed .*1 of 2 share servers and shares stay.*{reason}'
        )
        self.gone(moves)

    def test_nothing_begins_if_nothing_can_move(self):
        share = self.plain(share_type='copied')
        out, _ = self.begin('--yes', status=1)
        self.assertIn('Nothing can move, so nothing was begun.', out)
        self.untouched(share)

    def test_empty_backend_gets_no_new_shares(self):
        out, _ = self.begin('--yes')
        self.assertIn('There is nothing to move.\n', out)
        self.assertEqual((True, 'evacuated'), self.disabled('disk'))

    def test_nothing_begins_after_a_plan_that_failed(self):
        share = self.plain()
        self.fault('share_migration_check_compatibility:hang', 'other')
        ended = self.background('start', 'test@disk', '--yes', '--every', '0.1')
        base.eventually(self.runs, 'there is no plan')
        [run] = self.runs()
        with self.service.services.db.writer() as conn:
            self.assertTrue(
                operations.call_off(conn, operations.get(conn, run['id']), 'The plan went wrong.', 'x')
            )
        status, said = ended()
        self.assertEqual((1, True), (status, 'failed  The plan went wrong.' in said), said)
        self.service.knob('other', '')
        self.untouched(share)

    def test_mistakes(self):
        for status, sentence, words in (
            (
                1,
                'manila-manage: There is no backend nowhere, and no host of this name with backends.',
                ['nowhere'],
            ),
            (1, 'manila-manage: host: test@disk#pool1 is a pool', ['test@disk#pool1']),
            (1, 'manila-manage: destinations: test@disk is on test@disk', ['test@disk', '--to', 'test@disk']),
            (2, '--at-once: give a number from 1 to 100', ['test@disk', '--at-once', '0']),
            (2, '--at-once: give a number from 1 to 100', ['test@disk', '--at-once', '101']),
            (2, '--at-once: give a number from 1 to 100', ['test@disk', '--at-once', 'some']),
        ):
            _, err = self.manage('evacuate', 'start', '--yes', *words, status=status)
            self.assertIn(sentence, err)
        self.assertEqual((False, None), self.disabled('disk'))


class Asked(EvacuateTest):
    """``evacuate start`` on a terminal, where somebody answers its question."""

    def answer(self, text):
        """Run the command, and type the text when it asks. Return its exit status and output."""
        master, slave = pty.openpty()
        with os.fdopen(master, 'wb', buffering=0) as keys, os.fdopen(slave) as terminal:
            ended = self.background('start', 'test@disk', '--every', '0.1', stdin=terminal)
            keys.write(text)
            return ended()

    def test_no_begins_nothing(self):
        share = self.plain()
        for text in (b'n\n', b'\n', b'\x04'):
            status, said = self.answer(text)
            self.assertEqual(1, status, said)
            self.assertIn('Move all this off test@disk now? [y/N] Nothing was begun.', said)
        self.untouched(share)

    def test_yes_moves_everything(self):
        share = self.plain()
        status, said = self.answer(b'Yes\n')
        self.assertEqual(0, status, said)
        self.gone(share)

    def test_empty_backend_is_disabled_only_if_that_is_wanted(self):
        status, said = self.answer(b'n\n')
        self.assertIn('There is nothing to move.\nDisable test@disk, so that it stays empty? [y/N] ', said)
        self.assertEqual((1, (False, None)), (status, self.disabled('disk')))
        status, said = self.answer(b'y\n')
        self.assertEqual((0, (True, 'evacuated')), (status, self.disabled('disk')), said)


class Followed(EvacuateTest):
    """``evacuate watch`` and ``evacuate stop``."""

    def test_watch_by_host_and_by_id(self):
        share = self.plain()
        self.fault(_ON, 'other')
        run = self.evacuate('test@disk')
        base.eventually(lambda: self.moving(run), 'nothing moves')
        ended = [self.background('watch', name, '--every', '0.1') for name in (run, 'test@disk')]
        self.service.knob('other', '')
        for end in ended:
            status, said = end()
            self.assertEqual(0, status, said)
            self.assertRegex(said, r'empty +100 % +1 of 1 resources')
        self.gone(share)

    def moving(self, run):
        return self.admin.ok('GET', f'/operations/{run}')['operation']['report'].get('moving')

    def test_watch_shows_no_plan_unless_its_id_is_given(self):
        self.plain(share_type='copied')
        run = self.evacuate('test@disk')
        self.ended(run, 'failed')
        plan = self.evacuate('test@disk', dry_run=True)
        self.ended(plan)
        out, err = self.watch('test@disk', status=1)
        self.assertIn(f'operation {run}', err)
        self.assertIn('1 of 1 share servers and shares stay on test@disk.', out)
        self.assertIn('planned', self.watch(plan, status=1)[0])

    def test_evacuation_that_is_not_known(self):
        for run, sentence in (
            ('test@far', 'There is no recent evacuation of test@far.'),
            (uuidutils.generate_uuid(), 'is no evacuation, or its record was deleted'),
        ):
            self.assertIn(sentence, self.watch(run, status=1)[1])

    def test_stop(self):
        shares = [self.plain(), self.plain()]
        self.fault(_ON, 'other')
        run = self.evacuate('test@disk', at_once=1)
        base.eventually(lambda: self.moving(run), 'nothing moves')
        out, _ = self.manage('evacuate', 'stop', 'test@disk')
        self.assertIn('test@disk is not evacuated any further.', out)
        self.assertRegex(self.watch(run, status=1)[0], 'stopped .*An administrator stopped the evacuation.')
        self.assertIn(
            'test@disk is not being evacuated.', self.manage('evacuate', 'stop', 'test@disk', status=1)[1]
        )
        self.service.knob('other', '')
        base.eventually(self.nothing_moves, 'the migration that was under way does not end')
        self.assertEqual(['test@disk#pool1', 'test@other#pool1'], sorted(map(self.host, shares)))


class Drain(EvacuateTest):
    """``host drain``, and ``evacuate start --by-host``: hosts copy shares that drivers cannot move."""

    def setUp(self):
        super().setUp()
        if lacks := test_host_assisted.missing():
            self.skipTest(f'a copy by the host needs {lacks}')
        # Each share is a directory, which is made before the share is.
        self.place = self.service.state / 'served'
        self.place.mkdir(exist_ok=True)
        conf = self.service.services.conf
        for name, value in (
            ('data_node_access_ips', ['192.0.2.33']),
            ('data_node_local_exports', [f'10.0.0.1:/shares={self.place}']),
        ):
            conf.set_override(name, value)
            self.addCleanup(conf.clear_override, name)
        self.service.knob('other', 'share_migration_check_compatibility:fail_final')
        create = DummyDriver.create_share

        def create_share(driver, share):
            (self.place / share.id).mkdir(exist_ok=True)
            return create(driver, share)

        self.patch(DummyDriver, 'create_share', create_share)

    def test_shares_that_no_driver_moves_are_copied(self):
        share = self.plain()
        (self.place / self.instance(share) / 'f').write_text('hello')
        said, _ = self.begin('--yes', status=1)
        self.assertIn(f'{share["id"]} stays', said)
        self.assertEqual('test@disk#pool1', self.host(share))
        said, _ = self.manage(
            'host', 'drain', 'test@disk', '--every', '0.1', '--no-copies', '--yes', status=1
        )
        self.assertIn(f'{share["id"]} stays', said)
        said, _ = self.manage('host', 'drain', 'test@disk', '--every', '0.1', '--yes')
        self.assertIn('empty  100 %  1 of 1 resources', said)
        self.gone(share)
        self.assertEqual('hello', (self.place / self.instance(share) / 'f').read_text())

    def test_49_17_what_cannot_be_mounted_stays_and_the_end_says_what_is_disabled(self):
        """The plan says what the drain will do: names, a reason for each that stays, and at the end the way back."""
        moves, stays = self.plain(name='music'), self.plain(name='docs \x1b[2J')
        (self.place / self.instance(stays)).rmdir()
        why = f'docs \\u001b[2J ({stays["id"]}) stays: '
        for words in ('--dry-run',), ('--yes',):
            said, _ = self.manage('host', 'drain', 'test@disk', '--every', '0.1', *words, status=1)
            self.assertRegex(said, rf'share +music +{moves["id"]} ')
            (line,) = {
                line.partition('stays')[2] for line in said.splitlines() if f'({stays["id"]}) stays' in line
            }
            self.assertIn(f'data_node_local_exports: there is no directory {self.place}/', line)
            self.assertIn(why, said)
        end = said.splitlines()[-1]
        self.assertEqual(
            'test@disk is disabled and gets no new shares. To enable it: openstack share service set --enable '
            'test@disk manila-share',
            end,
        )
        self.gone(moves)
        self.assertEqual('test@disk#pool1', self.host(stays))

    def instance(self, share):
        """Return the id of the share's only instance; a source that was left is deleted behind the migration."""

        def only():
            found = self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
            return found[0]['id'] if len(found) == 1 else None

        return base.waiting.until(only, 'the share has one instance')
