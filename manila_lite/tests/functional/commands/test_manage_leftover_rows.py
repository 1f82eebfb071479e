# SPDX-License-Identifier: Apache-2.0
"""``manila-manage doctor`` finds and mends rows without owners, services that are gone, and pools without reports."""

import datetime

import sqlalchemy as sa
from oslo_utils import timeutils, uuidutils

from manila_lite import doctor
from manila_lite.db import models
from manila_lite.db.maintenance import orphans
from manila_lite.tests.factories import dirty
from manila_lite.tests.functional import manage

_LONG_AGO = datetime.datetime.fromisoformat('2020-01-01')
# Rows of services keep their numbers from one test to the next: a low one may be taken.
_FREE = 700


class LeftoversTest(manage.ManageTest):
    """Base class with one row of each kind left over."""

    def found(self, *words, status=1):
        """Return the findings of doctor by (what, id, state)."""
        return {
            (one['what'], one['id'], one['state']): one
            for one in self.listed('doctor', *words, status=status)
        }

    def orphans(self):
        """Insert a row without owners into each table that has owners. Return the names of the tables."""
        made = set()
        for table in models.metadata.sorted_tables:
            keys = [key.parent.name for key in table.foreign_keys if key.column.table is not table]
            if keys:
                self.add(
                    table,
                    **dirty._row(table, 'plain', _FREE) | {name: uuidutils.generate_uuid() for name in keys},
                )
                made.add(table.name)
        return made

    def test_rows_without_owners_are_found_and_removed(self):
        share = self.admin.share(metadata={'a': 'b'})
        made = self.orphans()
        self.assertIn('access_rules', made)
        bare = uuidutils.generate_uuid()
        self.add(models.shares, id=bare, project_id='p', size=1, share_proto='NFS')
        self.add(models.quotas, project_id='p', share_type_id='gone', resource='shares', hard_limit=1)
        self.add(models.quota_locks, project_id='nobody')
        made |= {'shares', 'quotas', 'quota_locks'}
        found = self.found()
        self.assertEqual(made, made & {key[1] for key in found if key[0] == 'rows'})
        self.assertFalse(found['rows', 'quota_locks', '1 left']['wrong'])
        self.manage('doctor', '--fix', status=1)  # a service is down
        with self.service.services.db.reader() as conn:
            self.assertEqual([], [kind.table.name for kind in orphans.kinds() if kind.find(conn)])
            self.assertNotIn(bare, list(conn.execute(sa.select(models.shares.c.id)).scalars()))
        self.assertEqual({'a': 'b'}, self.admin.ok('GET', f'/shares/{share["id"]}/metadata')['metadata'])

    def test_lock_of_a_deleted_access_rule_is_removed_and_locks_no_share(self):
        share = self.admin.share()['id']
        self.add(
            models.resource_locks,
            id=uuidutils.generate_uuid(),
            project_id='p',
            share_id=share,
            access_id=uuidutils.generate_uuid(),
            resource_action='delete',
            lock_context='user',
        )
        self.assertIn(('rows', 'resource_locks', '1 left'), self.found())
        with self.service.services.db.writer() as conn:
            for kind in orphans.kinds():
                kind.clean(conn)
        self.assertEqual(
            [], self.admin.ok('GET', f'/resource-locks?all_projects=1&resource_id={share}')['resource_locks']
        )
        self.assertEqual(202, self.admin.call('DELETE', f'/shares/{share}')[0])

    def test_fix_leaves_no_wrong_rows_or_quotas_in_a_polluted_database(self):
        dirty.pollute(self.service.services.db.engine, 2)
        self.manage('doctor', status=1)
        self.manage('doctor', '--fix', status=1)
        self.assertEqual(
            [], [one for one in doctor.list_findings(self.service.services) if one.what in ('rows', 'quota')]
        )

    def service_row(self, host, **values):
        self.add(
            models.services,
            **{
                'host': host,
                'binary': 'manila-share',
                'topic': 'manila-share',
                'heartbeat_at': timeutils.utcnow(),
                **values,
            },
        )

    def pool(self, host, **values):
        self.add(
            models.pools,
            **{
                'host': host,
                'backend_host': host.partition('#')[0],
                'total_gb': 10,
                'free_gb': 10,
                'capabilities': {},
                'reported_at': timeutils.utcnow(),
                **values,
            },
        )

    def test_down_and_silent_services_are_wrong_unless_stopped_or_disabled(self):
        for host, values in {
            'down@a': {'heartbeat_at': _LONG_AGO},
            'stopped@a': {'heartbeat_at': _LONG_AGO, 'stopped': True},
            'off@a': {'heartbeat_at': _LONG_AGO, 'disabled': True},
            'silent@a': {'created_at': _LONG_AGO},
        }.items():
            self.service_row(host, **values)
        found = {
            key[1:]: one['wrong']
            for key, one in self.found().items()
            if key[0] == 'service' and key[1].endswith('@a')
        }
        self.assertEqual(
            {
                ('down@a', 'down'): True,
                ('stopped@a', 'stopped'): False,
                ('off@a', 'down'): False,
                ('silent@a', 'up'): True,
            },
            found,
        )

    def test_problem_that_a_driver_reports_is_found(self):
        self.pool('loud@b#p', capabilities={'problems': ['its disk is loud']})
        self.service_row('loud@b')
        found = self.found()['pool', 'loud@b#p', 'problem']
        self.assertEqual((True, 'its disk is loud'), (found['wrong'], found['why']))

    def test_pools_without_recent_reports_are_found_and_claims_are_mended(self):
        self.service_row('full@b')
        self.pool('full@b#p', claimed_gb=5, reported_at=_LONG_AGO)
        self.pool('gone@b#p')
        found = self.found()
        self.assertTrue(found['rows', 'pools', '1 left']['wrong'])
        self.assertTrue(found['pool', 'full@b#p', '5 GiB claimed']['mendable'])
        self.assertTrue(found['pool', 'full@b#p', 'old figures']['wrong'])
        found = self.found('--fix')
        self.assertEqual(['old figures'], [key[2] for key in found if key[1] == 'full@b#p'])
        self.assertFalse([key for key in found if key[:2] == ('rows', 'pools')])
        with self.service.services.db.reader() as conn:
            self.assertEqual(
                0,
                conn.execute(
                    sa.select(models.pools.c.claimed_gb).where(models.pools.c.host == 'full@b#p')
                ).scalar(),
            )
