# SPDX-License-Identifier: Apache-2.0
"""``manila-manage doctor`` finds stuck resources and mends them beside a running service."""

import datetime
import subprocess
import sys

from oslo_utils import timeutils, uuidutils

from manila_lite import doctor
from manila_lite.db import models
from manila_lite.db.queries import operations as rows
from manila_lite.tests import waiting
from manila_lite.tests.factories import dirty
from manila_lite.tests.functional import base, manage


class DoctorTest(manage.ManageTest):
    """Base class of tests on damage made by SQL."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self._clean)

    def _clean(self):
        """Remove everything that a test left."""
        with self.service.services.db.writer() as conn:
            for table in (models.operations, models.snapshots, models.shares):
                conn.execute(table.delete())
        # The run that was ensuring these shares has just been deleted. Managers lock rows of services before those of others.
        with self.service.services.db.writer() as conn:
            conn.execute(models.services.update().where(models.services.c.ensuring).values(ensuring=False))

    def found(self, *words, status=1):
        """Return the findings of doctor by id."""
        return {one['id']: one for one in self.listed('doctor', *words, status=status)}

    def rest(self):
        """Wait until doctor finds nothing wrong."""
        base.eventually(
            lambda: not any(one.wrong for one in doctor.list_findings(self.service.services)),
            'something is wrong still',
        )

    def operation(self, share_id, kind='share.extend', **values):
        """Insert an operation. Return its id."""
        with self.service.services.db.writer() as conn:
            return rows.insert(
                conn,
                **{
                    'kind': kind,
                    'resource_type': kind.partition('.')[0],
                    'resource_id': share_id,
                    'topic': 'share',
                    'host': 'test@alpha',
                    'lane': 'work',
                    'data': {},
                    'project_id': 'p',
                    'user_id': 'u',
                    **values,
                },
            )

    def snapshot(self, share, status, **values):
        made = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id'], 'name': 'x'}})[
            'snapshot'
        ]
        self.admin.wait(f'/snapshots/{made["id"]}', 'snapshot', 'available')
        self.write(models.snapshots, made['id'], status=status, **values)
        return made['id']

    def rules(self, share, *states):
        """Give the share rules in these states. Return their ids."""
        made = [
            self.admin.action(
                share['id'], 'allow_access', {'access_type': 'ip', 'access_to': f'10.0.0.{last}'}
            )[1]['access']['id']
            for last, _ in enumerate(states, 1)
        ]
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'active', field='access_rules_status')
        for resource_id, state in zip(made, states, strict=True):
            self.write(models.access_rules, resource_id, state=state)
        return made

    def test_control_characters_are_escaped_in_the_output(self):
        evil = 'away\x1b[2J\x1b]0;owned\x07\u202e\x9b31m'
        share = self.admin.share()
        self.put(share, 'extending')
        self.operation(share['id'], host='gone@alpha', error=evil, attempts=3)
        out, _ = self.manage('doctor', status=1)
        self.assertIn('away\\u001b[2J', out)
        _, err = self.manage('share', 'delete', evil, status=1)
        self.assertIn('away\\u001b[2J', err)
        for text in (out, err):
            self.assertNotRegex(text, '[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]')

    def ends(self, share, status, **fields):
        got = self.admin.wait(f'/shares/{share["id"]}', 'share', status)
        self.assertEqual(fields, {key: got[key] for key in fields})

    def mend(self, *idents):
        """Check that each resource is found wrong, and mend all; wait until nothing is wrong."""
        found = self.found()
        for resource_id in idents:
            self.assertTrue(found[resource_id]['wrong'], found[resource_id])
            self.assertTrue(found[resource_id]['mendable'], found[resource_id])
        _, said = self.manage('doctor', '--fix')
        for resource_id in idents:
            self.assertIn(resource_id, said)
        self.rest()
        return said

    def deletions(self):
        return (self.service.state / 'alpha' / 'calls').read_text().count('delete_share ')

    def test_share_left_ensuring_without_a_run_is_repaired(self):
        share, other = self.admin.share(), self.admin.share()
        base.eventually(
            lambda: not self.admin.ok('GET', '/services?ensuring=true')['services'], 'the start goes on'
        )
        self.put(share, 'ensuring')
        with dirty.unguarded(self.service.services.db.engine) as conn:
            conn.execute(
                models.services.update().where(models.services.c.host == 'test@alpha').values(ensuring=True)
            )
        self.mend(share['id'], 'test@alpha')
        self.ends(share, 'available')
        self.ends(other, 'available')
        self.assertEqual([], self.admin.ok('GET', '/services?ensuring=true')['services'])

    def test_share_being_ensured_is_not_reported_as_wrong(self):
        """Check that a share that is being ensured is not wrong, and that its run is named."""
        share = self.admin.share()
        base.eventually(
            lambda: not self.admin.ok('GET', '/services?ensuring=true')['services'], 'the start goes on'
        )
        self.service.knob('alpha', 'ensure_shares:hang')
        self.addCleanup(self.service.knob, 'alpha', '')
        self.admin.call('POST', '/services/ensure', {'host': 'test@alpha'})
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'ensuring')
        found = self.found(status=0)[share['id']]
        self.assertEqual((False, 'ensuring'), (found['wrong'], found['state']))
        self.assertIn('service.ensure', found['why'])
        self.service.knob('alpha', '')
        self.ends(share, 'available')

    def test_healthy_shares_and_rules_are_not_reported(self):
        share = self.admin.share()
        self.rules(share, 'active')
        out, _ = self.manage('doctor')
        self.assertIn('0 of 0 are wrong', out)

    def test_operations_of_stuck_shares_are_begun_again(self):
        made = [self.admin.share(size=2) for _ in range(5)]
        create, extend, shrink, revert, delete = made
        self.put(create, 'creating', launched_at=None)
        self.put(extend, 'extending', target_size=3)
        self.put(shrink, 'shrinking', target_size=1)
        snapshot = self.snapshot(revert, 'restoring')
        self.put(revert, 'reverting', target_size=2)
        self.operation(
            delete['id'], 'share.delete', state='failed', error='x', finished_at=timeutils.utcnow()
        )
        self.put(delete, 'deleting')
        self.mend(*(share['id'] for share in made))
        self.ends(create, 'available')
        self.ends(extend, 'available', size=3)
        self.ends(shrink, 'available', size=1)
        self.ends(revert, 'available')
        self.admin.wait(f'/shares/{delete["id"]}', 'share', 'gone')
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.manage('doctor')

    def test_stuck_managing_and_unmanaging_shares_are_repaired(self):
        manage, doubtful, unmanage, unproved = made = [self.admin.share(size=2) for _ in range(4)]
        ended = {'state': 'failed', 'error': 'x', 'finished_at': timeutils.utcnow()}
        self.operation(
            manage['id'], 'share.manage', data={'export_path': '/shares/old', 'options': {}}, **ended
        )
        self.operation(unmanage['id'], 'share.unmanage', **ended)
        for share, status in zip(
            made,
            ('manage_starting', 'manage_starting', 'unmanage_starting', 'unmanage_starting'),
            strict=True,
        ):
            self.put(share, status, launched_at=None)
        self.mend(*(share['id'] for share in made))
        self.ends(manage, 'available', size=2)
        self.ends(doubtful, 'manage_error')
        self.admin.wait(f'/shares/{unmanage["id"]}', 'share', 'gone')
        self.ends(unproved, 'unmanage_error')

    def test_unproven_share_statuses_end_in_error_states(self):
        """Check that a share is neither deleted nor created again for a status that only an administrator set."""
        made, before = [self.admin.share() for _ in range(3)], self.deletions()
        for share, status in zip(made, ('deleting', 'creating', 'extending'), strict=True):
            self.put(share, status)
        said = self.mend(*(share['id'] for share in made))
        self.assertIn('error_deleting', said)
        for share, status in zip(made, ('error_deleting', 'error', 'extending_error'), strict=True):
            self.ends(share, status)
            messages = self.admin.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
            self.assertIn('could not be taken up again', messages[0]['user_message'])
        self.assertEqual(before, self.deletions())

    def test_stuck_snapshots_are_repaired(self):
        share = self.admin.share()
        made = [self.snapshot(share, status) for status in ('creating', 'deleting', 'deleting', 'restoring')]
        create, delete, doubtful, restore = made
        self.operation(delete, 'snapshot.delete', state='failed', error='x', finished_at=timeutils.utcnow())
        self.mend(*made)
        for snapshot_id, status in (
            (create, 'available'),
            (delete, 'gone'),
            (doubtful, 'error_deleting'),
            (restore, 'available'),
        ):
            self.admin.wait(f'/snapshots/{snapshot_id}', 'snapshot', status)

    def test_stuck_access_rules_are_applied_or_removed(self):
        share, other = self.admin.share(), self.admin.share()
        apply, deny = self.rules(share, 'queued_to_apply', 'denying')
        self.write(models.share_instances, self.instance(other['id']), access_rules_status='syncing')
        found = self.found()
        self.assertEqual({apply, deny, other['id']}, set(found))
        self.mend(other['id'])
        self.admin.wait(f'/share-access-rules/{apply}', 'access', 'active', field='state')
        self.admin.wait(f'/share-access-rules/{deny}', 'access', 'gone', field='state')
        self.admin.wait(f'/shares/{other["id"]}', 'share', 'active', field='access_rules_status')

    def test_stuck_rules_of_a_share_without_host_get_a_final_state(self):
        share = self.admin.share()
        apply, deny = self.rules(share, 'applying', 'queued_to_deny')
        self.write(models.share_instances, self.instance(share['id']), host=None, status='error')
        self.manage('doctor', '--fix')
        self.admin.wait(f'/share-access-rules/{apply}', 'access', 'error', field='state')
        self.admin.wait(f'/share-access-rules/{deny}', 'access', 'gone', field='state')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'error', field='access_rules_status')

    def test_leftover_target_size_is_removed_from_the_quota(self):
        share = self.admin.share()
        self.put(share, 'available', target_size=50)
        limits = self.admin.ok('GET', '/quota-sets/p/detail')['quota_set']['gigabytes']
        self.assertEqual(49, limits['reserved'])
        self.mend(share['id'])
        self.assertEqual(
            0, self.admin.ok('GET', '/quota-sets/p/detail')['quota_set']['gigabytes']['reserved']
        )

    # Operations -------------------------------------------------------------------------------

    def parked(self, share, kind='share.extend', **values):
        return self.operation(
            share['id'],
            kind,
            state='parked',
            error='out of reach',
            finished_at=timeutils.utcnow(),
            mutex_key=self.instance(share['id']),
            **values,
        )

    def resizing(self, **values):
        share = self.admin.share()
        self.put(share, 'extending', target_size=2)
        return share, self.parked(share, **{'data': {'size': 1, 'new_size': 2}, **values})

    def test_parked_operations_are_repaired(self):
        good, first = self.resizing()
        bad, second = self.resizing()
        with self.service.services.db.writer() as conn:
            conn.exec_driver_sql(f"UPDATE operations SET data = '{{\"cut' WHERE id = '{second}'")
        twice, third = self.resizing(data={'size': 1, 'new_size': 2, 'begun_again': True})
        calm = self.admin.share()
        idle = self.parked(calm, 'share.future')
        found = self.found()
        self.assertIn('out of reach', found[first]['why'])
        self.assertIn(first, found[good['id']]['why'])
        self.mend(first, second, third, idle)
        self.ends(good, 'available', size=2)
        self.ends(bad, 'available', size=2)
        self.ends(twice, 'extending_error', size=1)
        self.ends(calm, 'available')

    def test_parked_rule_sync_is_repeated_once(self):
        share, other = self.admin.share(), self.admin.share()
        (rule,), (doubtful,) = self.rules(share, 'applying'), self.rules(other, 'applying')
        sync = {'resource_type': 'share', 'lane': 'fast'}
        self.mend(
            self.parked(share, 'access.sync', **sync),
            self.parked(other, 'access.sync', data={'begun_again': True}, **sync),
        )
        self.admin.wait(f'/share-access-rules/{rule}', 'access', 'active', field='state')
        self.admin.wait(f'/share-access-rules/{doubtful}', 'access', 'error', field='state')

    def test_operations_with_a_dead_worker_or_a_wrong_clock_are_repaired(self):
        name = 'from manila_lite.engine import process_names; print(process_names.name())'
        dead = subprocess.run(
            [sys.executable, '-c', name], capture_output=True, text=True, timeout=waiting.LIMIT, check=True
        ).stdout.strip()
        later = timeutils.utcnow() + datetime.timedelta(days=1)
        shares = [self.admin.share() for _ in range(2)]
        idents = []
        for share, values in zip(
            shares, ({'owner': dead, 'lease_expires_at': later}, {'next_run_at': later}), strict=True
        ):
            self.put(share, 'extending', target_size=2)
            idents.append(
                self.operation(
                    share['id'],
                    data={'size': 1, 'new_size': 2},
                    mutex_key=self.instance(share['id']),
                    unique_key=f'share:{share["id"]}',
                    **values,
                )
            )
        found = self.found()
        self.assertIn(f'{dead}, which worked on it, is dead', found[idents[0]]['why'])
        self.assertIn('was a clock wrong?', found[idents[1]]['why'])
        self.mend(*idents)
        for share in shares:
            self.ends(share, 'available', size=2)

    def test_reason_why_an_operation_waits_is_shown(self):
        """Check the reasons why an operation waits, and whether doctor can mend them."""
        now, second = timeutils.utcnow(), datetime.timedelta(seconds=1)
        before, later = now - 3600 * second, now + 3600 * second
        services = {'up@x': (now, False), 'busy@x': (now, False), 'down@x': (before, True)}
        for host, (heartbeat, stopped) in services.items():
            self.add(
                models.services,
                host=host,
                binary='manila-share',
                topic='manila-share',
                heartbeat_at=heartbeat,
                stopped=stopped,
                created_at=now,
            )
        self.addCleanup(self.drop, models.services, models.services.c.host.like('%@x'))
        held = {'owner': 'elsewhere/1-1/1/1', 'lease_expires_at': later}
        expected = {
            'is being worked on by elsewhere': (False, {'host': 'busy@x', 'mutex_key': 's', **held}),
            'waits for its turn behind': (False, {'host': 'busy@x', 'mutex_key': 's', 'next_run_at': before}),
            'waits for a free worker': (False, {'host': 'busy@x', 'next_run_at': before}),
            'looks again in': (False, {'host': 'up@x', 'next_run_at': now + 1800 * second}),
            'does not claim it': (True, {'host': 'up@x', 'next_run_at': before}),
            'on down@x, which is down': (True, {'host': 'down@x'}),
            'on gone@x, which is not known': (True, {'host': 'gone@x'}),
            'ran out': (True, {'host': 'gone@x', 'owner': 'elsewhere/1-1/1/1', 'lease_expires_at': before}),
            'does not have': (True, {'topic': 'future', 'host': ''}),
        }
        idents = {
            why: self.operation(uuidutils.generate_uuid(), **values) for why, (_, values) in expected.items()
        }
        found = self.found()
        for why, (wrong, _) in expected.items():
            self.assertIn(why, found[idents[why]]['why'])
            self.assertEqual(wrong, found[idents[why]]['wrong'], why)
        self.assertEqual(
            {idents['ran out'], idents['does not claim it']},
            {one['id'] for one in found.values() if one['mendable'] and one['what'] == 'operation'},
        )
        found = self.found('--fix')
        self.assertEqual('is due', found[idents['does not claim it']]['why'])
        self.assertIn('not known', found[idents['ran out']]['why'])

    def test_resources_that_changed_meanwhile_are_not_repaired(self):
        share, share_id = self.resizing()
        (parked,) = [one for one in doctor.list_findings(self.service.services) if one.id == share_id]
        self.admin.action(share['id'], 'reset_status', {'status': 'available'})
        self.assertIsNone(doctor.mend(self.service.services, parked))
        self.put(share, 'extending', target_size=2)
        (stuck,) = [one for one in doctor.list_findings(self.service.services) if one.id == share['id']]
        self.put(share, 'available', target_size=None)
        self.assertIsNone(doctor.mend(self.service.services, stuck))
        self.ends(share, 'available', size=1)

    def test_older_than_hides_newer_findings(self):
        share = self.admin.share()
        self.put(share, 'creating', launched_at=None)
        self.assertEqual({}, self.found('--older-than', '3600', status=0))
        self.assertEqual({share['id']}, set(self.found()))
        self.manage('doctor', '--older-than', '-1', status=2)
