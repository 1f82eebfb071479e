# SPDX-License-Identifier: Apache-2.0
"""``manila-manage`` without a service: its configuration, its exit statuses, and ``manila-status upgrade check``."""

import datetime
import json
import subprocess
import sys
from importlib import metadata

import yaml
from oslo_config import cfg
from oslo_utils import timeutils

from manila_lite import conf as options
from manila_lite import release
from manila_lite.db import models
from manila_lite.db.core.engine import Database
from manila_lite.db.queries import operations as rows
from manila_lite.tests import waiting
from manila_lite.tests.functional import manage
from manila_lite.tests.services import places

_CONFIG = """
[DEFAULT]
state_path = {state}
host = here
auth_strategy = noauth
default_share_type = default
enabled_share_backends = alpha
transport_url = rabbit://user:hidden-one@127.0.0.1:9/
{extra}
[alpha]
driver = dummy
dummy_pool_size_gb = 7
{backend}
[oslo_policy]
policy_file = {state}/policy.yaml
[database]
connection = {database}
{more}
"""


class AloneTest(manage.AloneTest):
    """Commands with a backend, a policy file and a broker that does not answer."""

    def configure(self, extra='', backend='', more='', url=None):
        self.config.write_text(
            _CONFIG.format(
                state=self.state, database=url or self.url, extra=extra, backend=backend, more=more
            )
        )

    def manage(self, *words, status=0):
        got, out, err = manage.run(self.config, 'manage', *words)
        self.assertEqual(status, got, out + err)
        return out + err

    def check(self, status):
        """Run the upgrade check; return (result, details) by the name of the check."""
        got, out, err = manage.run(self.config, 'status', 'upgrade', 'check', '--json')
        self.assertEqual(status, got, out + err)
        return {
            one['check']: (one['result'], one['details'] or '')
            for one in json.loads(out.splitlines()[-1])['checks']
        }

    def database(self):
        """Return the database, opened as a process does."""
        conf = options.register(cfg.ConfigOpts())
        conf([f'--config-file={self.config}'], project='manila_lite')
        found = Database(conf)
        self.addCleanup(found.dispose)
        return found

    def service(self, host, **values):
        with self.database().writer() as conn:
            conn.execute(
                models.services.insert().values(
                    host=host,
                    binary='manila-share',
                    topic='manila-share',
                    **{'heartbeat_at': timeutils.utcnow(), **values},
                )
            )

    # manila-manage ----------------------------------------------------------------------------

    def test_version_commands_show_the_package_version(self):
        self.assertIn(metadata.version('manila-lite'), self.manage('--version'))
        self.assertIn(metadata.version('manila-lite'), self.manage('version', 'list'))
        self.assertEqual(release.FULL, self.manage('version').strip())

    def test_output_that_nobody_reads_to_the_end_is_no_error(self):
        """As in a pipe to "head"."""
        command = [
            sys.executable,
            '-m',
            'manila_lite.cmd.manage',
            f'--config-file={self.config}',
            'config',
            'list',
        ]
        started = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )
        self.assertIn('option', started.stdout.readline())
        started.stdout.close()
        self.assertEqual((141, ''), (started.wait(timeout=waiting.LIMIT), started.stderr.read()))
        started.stderr.close()

    def test_outdated_or_missing_schema_is_reported(self):
        self.assertIn('manila-manage db sync', self.manage('db', 'check', status=1))
        self.assertIn('manila-manage db sync', self.manage('doctor', status=2))
        self.manage('db', 'sync')
        self.assertIn('the newest', self.manage('db', 'check'))
        self.manage('doctor')
        self.assertIn("no revision '77'", self.manage('db', 'stamp', '77', status=1))
        self.manage('db', 'stamp', '0001')
        self.assertEqual('0001', self.manage('db', 'version').split()[-1])

    def test_invalid_arguments_and_configuration_exit_with_status_2(self):
        for words in (
            ['doctor', '--format', 'xml'],
            ['nothing'],
            ['service'],
            ['share', 'delete'],
            ['share', 'delete', 'a', '--share_id', 'b'],
            ['db', 'purge', 'x'],
        ):
            self.assertIn('usage:', self.manage(*words, status=2))
        self.configure(url='nonsense+x://y')
        self.assertEqual(1, len(self.manage('db', 'version', status=2).strip().splitlines()))
        self.config.write_text('[DEFAULT')
        self.assertIn('manila_lite:', self.manage('service', 'list', status=2))

    def test_config_list_shows_values_and_sources_and_hides_secrets(self):
        self.configure(extra='[quota]\nshares = 3', more='connection_debug = x')
        found = {one['option']: one for one in json.loads(self.manage('config', 'list', '--format', 'json'))}
        self.assertEqual(
            list(found.values()), yaml.safe_load(self.manage('config', 'list', '--format_output', 'yaml'))
        )
        self.assertEqual(3, found['[quota] shares']['value'])
        self.assertEqual(str(self.config), found['[quota] shares']['set by'])
        self.assertEqual(
            (50, 'default'), (found['[quota] snapshots']['value'], found['[quota] snapshots']['set by'])
        )
        self.assertEqual(7, found['[alpha] dummy_pool_size_gb']['value'])
        self.assertIn('cannot be read', found['[database] connection_debug']['value'])
        changed = self.manage('config', 'list', '--changed')
        self.assertNotIn('hidden-one', changed)
        self.assertIn('****', changed)
        self.assertIn('[alpha] driver', changed)
        self.assertNotIn('[quota] snapshots', changed)

    # manila-status ----------------------------------------------------------------------------

    def test_database_that_is_away_is_one_line_within_seconds(self):
        """Ask no longer than a person waits: drivers would try for minutes."""
        for url in ('mysql+pymysql://u:hush@127.0.0.1:1/x', 'postgresql+psycopg2://u:hush@127.0.0.1:1/x'):
            self.configure(url=url)
            for words in (('doctor',), ('db', 'sync'), ('service', 'list')):
                command = [
                    sys.executable,
                    '-m',
                    'manila_lite.cmd.manage',
                    f'--config-file={self.config}',
                    *words,
                ]
                done = subprocess.run(
                    command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=waiting.LIMIT
                )
                [line] = done.stderr.splitlines()
                self.assertEqual((2, ''), (done.returncode, done.stdout), done.stderr)
                self.assertRegex(line, r'^manila_lite: \[database\] connection: .*127.0.0.1.*$')
                self.assertNotIn('hush', line)

    def test_upgrade_check_passes_with_a_current_schema(self):
        self.manage('db', 'sync')
        self.assertEqual({0}, {result for result, _ in self.check(0).values()})

    def test_upgrade_check_fails_without_a_database(self):
        self.configure(url=f'sqlite:///{self.state}/missing/x.sqlite')
        found = self.check(2)
        self.assertEqual(2, found['database'][0])
        self.assertIn('[database] connection', found['database'][1])
        self.assertEqual(2, found['database schema'][0])

    def test_upgrade_check_fails_without_a_schema(self):
        found = self.check(2)
        self.assertEqual((0, 2), (found['database'][0], found['database schema'][0]))
        self.assertIn('manila-manage db sync', found['database schema'][1])

    def test_upgrade_check_warns_of_services_that_are_down(self):
        self.manage('db', 'sync')
        self.service('here@alpha', heartbeat_at=datetime.datetime.fromisoformat('2020-01-01'))
        self.service('here@off', heartbeat_at=datetime.datetime.fromisoformat('2020-01-01'), disabled=True)
        self.configure(extra='[upgrade_levels]\noperations = 1.0')
        result, details = self.check(1)['services']
        self.assertEqual(1, result)
        self.assertIn('manila-share on here@alpha', details)
        self.assertNotIn('here@off', details)
        self.assertIn('pinned to 1.0', details)

    def test_upgrade_check_warns_of_services_of_different_releases(self):
        self.manage('db', 'sync')
        now = timeutils.utcnow()
        for host in ('here@alpha', 'here@beta'):
            self.service(host, heartbeat_at=now)
        self.service('here@stopped', heartbeat_at=now, stopped=True, release='9.9', release_at=now)
        self.assertEqual(
            (0, ''), self.check(0)['releases of services']
        )  # before an upgrade all are of the old one
        self.service('here@gamma', heartbeat_at=now, release='9.9', release_at=now)
        result, details = self.check(1)['releases of services']
        self.assertEqual(1, result)
        self.assertIn('9.9: manila-share on here@gamma', details)
        self.assertIn('before 0.2.0: manila-share on here@alpha, manila-share on here@beta', details)
        self.assertNotIn('here@stopped', details)

    def test_schema_of_a_later_release_is_used_as_it_is(self):
        """As when services were upgraded, and taken back to this release."""
        self.manage('db', 'sync')
        with self.database().writer() as conn:
            conn.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        self.assertEqual({0}, {result for result, _ in self.check(0).values()})
        self.assertIn('The schema is at 9999, of a later release', self.manage('db', 'sync'))
        self.assertIn('The schema is at 9999, of a later release', self.manage('db', 'check'))
        self.manage('doctor')
        self.assertEqual('9999', self.manage('db', 'version').strip())

    def test_upgrade_check_warns_of_parked_operations(self):
        self.manage('db', 'sync')
        with self.database().writer() as conn:
            rows.insert(
                conn,
                kind='share.create',
                resource_type='share',
                resource_id='x',
                topic='scheduler',
                host='',
                lane='work',
                data={},
                state='parked',
                error='out of reach',
            )
        result, details = self.check(1)['nothing stuck']
        self.assertEqual(1, result)
        self.assertIn('out of reach', details)
        self.assertIn('manila-manage doctor', details)

    def test_upgrade_check_reports_unknown_rules_and_broken_policy_files(self):
        self.manage('db', 'sync')
        policy = self.state / 'policy.yaml'
        policy.write_text('share:get: "rule:mine"\nmine: "role:x"\nshare:gte: "role:y"\n')
        result, details = self.check(1)['policy file']
        self.assertEqual(1, result)
        self.assertEqual('Rule share:gte: there is no such rule', details)
        policy.write_text('share:get: "((("\n- x\n')
        self.assertEqual(2, self.check(2)['policy file'][0])

    def test_upgrade_check_warns_of_unknown_options(self):
        self.manage('db', 'sync')
        self.configure(
            extra='defualt_share_type = x\n[beta]\ndriver = dummy\n[keystone_authtoken]\nusername = x',
            backend='dummy_knob = x',
        )
        result, details = self.check(1)['options']
        self.assertEqual(1, result)
        for said in (
            '[DEFAULT] defualt_share_type: there is no such option',
            '[alpha] dummy_knob',
            'enabled_share_backends?',
        ):
            self.assertIn(said, details)
        self.assertNotIn('keystone', details)

    def test_upgrade_check_reports_the_new_name_of_a_renamed_option(self):
        self.manage('db', 'sync')
        self.configure(extra='rpc_thread_pool_size = 3')
        self.assertIn('is called [DEFAULT] executor_thread_pool_size now', self.check(1)['options'][1])

    def test_upgrade_check_fails_for_administrators_without_a_login_from_elsewhere(self):
        self.manage('db', 'sync')
        self.configure(extra='osapi_share_listen = ::')
        result, said = self.check(2)['logins']
        self.assertEqual(2, result)
        for word in ('osapi_share_listen', 'noauth', 'allow_remote_noauth'):
            self.assertIn(word, said)
        self.configure(extra='osapi_share_listen = ::', more='[api]\nallow_remote_noauth = true')
        self.check(0)

    def test_upgrade_check_fails_for_an_unknown_driver(self):
        self.manage('db', 'sync')
        self.configure(backend='driver = nonsense')
        result, details = self.check(2)['share backends']
        self.assertEqual(2, result)
        self.assertIn('nonsense', details)

    def test_upgrade_check_fails_for_a_sqlite_file_used_by_several_hosts(self):
        if places.backend() != 'sqlite':
            self.skipTest('it is about a SQLite file that several hosts use, which CI tries on SQLite')
        self.manage('db', 'sync')
        self.service('here@alpha')
        self.service('there@alpha', stopped=True)
        self.assertEqual(1, self.check(1)['database for several hosts'][0])
        self.service('yonder@alpha')
        result, details = self.check(2)['database for several hosts']
        self.assertEqual(2, result)
        self.assertIn('yonder', details)
