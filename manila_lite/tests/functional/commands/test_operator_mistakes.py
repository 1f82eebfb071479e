# SPDX-License-Identifier: Apache-2.0
"""Mistakes of an operator: each is one line that names cause and cure, at the start or in the upgrade check."""

import contextlib
import datetime
import json

import sqlalchemy as sa
from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.tests.functional import manage

_URLS = (
    (
        'mysql+foo://u:hush@127.0.0.1/m',
        'there is no driver mysql+foo; use one of sqlite, postgresql+psycopg2, mysql+pymysql',
    ),
    ('postgres://u:hush@127.0.0.1/m', 'there is no driver postgres; use one of'),
    ('u:hush@127.0.0.1/m', 'it is no URL of a database; write DRIVER://USER:PASSWORD@HOST/DATABASE'),
    (
        'oracle+oracledb://u:hush@127.0.0.1/m',
        "the driver of oracle+oracledb is missing (No module named 'oracledb')",
    ),
    (
        'sqlite:////nowhere/at/all/m.sqlite',
        'there is no directory /nowhere/at/all; make it, or change [DEFAULT] state_path',
    ),
)
_CONFIG = """[DEFAULT]
state_path = {state}
auth_strategy = noauth
enabled_share_backends = alpha
default_share_type = default
host = here
[database]
connection = {url}
[alpha]
driver = dummy
{extra}
"""


class Mistakes(manage.AloneTest):
    """Commands with a configuration that cannot work."""

    def configure(self, extra='', url=None):
        self.config.write_text(_CONFIG.format(state=self.state, url=url or self.url, extra=extra))

    def said(self, module, *words):
        """Run a command; return its exit status, and its output without the lines of the log's levels below WARNING."""
        status, out, err = manage.run(self.config, module, *words)
        return status, [line for line in (out + err).splitlines() if ' INFO ' not in line]

    def test_49_16_url_without_a_database_has_a_cure(self):
        for url, why in _URLS:
            self.configure(url=url)
            for module, *words in (('manage', 'db', 'sync'), ('scheduler',)):
                status, lines = self.said(module, *words)
                told = [line for line in lines if '[database] connection: ' in line]
                self.assertEqual(1, len(told), lines)
                self.assertIn(why, told[0])
                self.assertIn(status, (1, 2))
                self.assertNotIn('hush', ''.join(lines))
            status, lines = self.said('status', 'upgrade', 'check')
            self.assertEqual((2, True), (status, lines[-1].startswith('Well: ')), lines)
            self.assertTrue(
                any(line.startswith('Failure: database: ') and why in line for line in lines), lines
            )

    def test_49_16_wrong_values_are_met_at_the_start_and_in_the_upgrade_check(self):
        self.said('manage', 'db', 'sync')
        for extra, start, check in (
            ('backup_client_ip = many', '[alpha] backup_client_ip: ', '[alpha] backup_client_ip: '),
            ('[DEFAULT]\nenabled_share_protocols = NSF', '', '[DEFAULT] enabled_share_protocols: '),
            ('[api]\nthreads = many', '', '[api] threads: '),
        ):
            self.configure(extra=extra)
            if start:
                status, lines = self.said('share')
                self.assertEqual((1, 1), (status, len(lines)), lines)
                self.assertIn(start, lines[0])
            status, lines = self.said('status', 'upgrade', 'check')
            self.assertEqual(2, status, lines)
            self.assertTrue(any(line.startswith('Failure: ') and check in line for line in lines), lines)

    def test_49_16_upgrade_check_has_all_that_is_well_in_one_line(self):
        status, lines = self.said('status', 'upgrade', 'check')
        self.assertEqual(
            (2, True, True),
            (
                status,
                lines[0].startswith('Failure: database schema: '),
                lines[-1].startswith('Well: database, '),
            ),
            lines,
        )
        self.assertEqual(2, len(lines), lines)
        self.said('manage', 'db', 'sync')
        status, lines = self.said('status', 'upgrade', 'check')
        self.assertEqual((0, 1), (status, len(lines)), lines)

    def test_49_16_renamed_host_with_shares_and_no_scheduler(self):
        self.said('manage', 'db', 'sync')
        old = datetime.datetime.fromisoformat('2020-01-01')
        with self.database() as conn:
            conn.execute(
                models.services.insert(),
                [
                    {'host': 'former@alpha', 'binary': 'manila-share', 'topic': 'share', 'heartbeat_at': old},
                    {
                        'host': 'former',
                        'binary': 'manila-scheduler',
                        'topic': 'scheduler',
                        'heartbeat_at': old,
                    },
                ],
            )
            conn.execute(
                models.shares.insert(),
                [
                    {
                        'id': 's',
                        'project_id': 'p',
                        'user_id': 'u',
                        'size': 1,
                        'share_proto': 'NFS',
                        'created_at': timeutils.utcnow(),
                    }
                ],
            )
            conn.execute(
                models.share_instances.insert(),
                [
                    {
                        'id': 's',
                        'share_id': 's',
                        'status': 'available',
                        'access_rules_status': 'active',
                        'host': 'former@alpha#pool1',
                        'created_at': timeutils.utcnow(),
                    }
                ],
            )
        status, lines = self.said('status', 'upgrade', 'check')
        self.assertEqual(1, status, lines)
        (line,) = (line for line in lines if line.startswith('Warning: services: '))
        for word in (
            'former@alpha has 1 share,',
            'set [DEFAULT] host = former',
            'share update_host',
            'No scheduler is up',
        ):
            self.assertIn(word, line)

    @contextlib.contextmanager
    def database(self):
        """Yield a connection that writes."""
        engine = sa.create_engine(self.url)
        self.addCleanup(engine.dispose)
        with engine.begin() as conn:
            yield conn

    def test_49_16_stamp_to_an_older_revision_warns_and_an_empty_cleanup_says_so(self):
        self.said('manage', 'db', 'sync')
        newest = self.said('manage', 'db', 'version')[1][-1]
        status, lines = self.said('manage', 'db', 'stamp', '0023')
        self.assertEqual(
            (0, 1), (status, ''.join(lines).count(f'"manila-manage db stamp {newest}" undoes this')), lines
        )
        status, lines = self.said('manage', 'db', 'stamp', newest)
        self.assertEqual(['The recorded'], [line[:12] for line in lines])
        status, lines = self.said('manage', 'service', 'cleanup')
        self.assertEqual((0, True), (status, 'Nothing was deleted' in lines[-1]), lines)
        self.assertEqual(
            [], json.loads(manage.run(self.config, 'manage', 'service', 'cleanup', '--format', 'json')[1])
        )
