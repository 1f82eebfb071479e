# SPDX-License-Identifier: Apache-2.0
"""Each block of the administrator's pages is typed on a fresh Debian with systemd, in order, and does what the page says."""

import re

import testtools

from manila_lite.tests import packages
from manila_lite.tests.functional.admin_pages import blocks, plans
from manila_lite.tests.functional.admin_pages.reader import PASSWORD, Reader
from manila_lite.tests.services.daemon import Daemon, Missing
from manila_lite.tests.services.keystone import ADMIN, Keystone
from manila_lite.tests.services.machine import ROOT, Disk, Machine, copy_checkout

_URL = 'http://127.0.0.1:8786/v2'
_SQLITE = 'sqlite:////var/lib/manila_lite/manila_lite.sqlite'


class Complete(testtools.TestCase):
    """No block is forgotten."""

    def test_each_block_is_typed_or_has_a_reason(self):
        typed = [
            block
            for step in (*plans.ONE_HOST, *plans.MANY_HOSTS, *plans.OTHER_DATABASES)
            for block in step.blocks
        ]
        left = [block for page in plans.PAGES for block in blocks.read(page) if block not in typed]
        self.assertEqual(set(plans.ILLUSTRATIONS), {(block.page, block.name) for block in left})

    def test_page_about_packages_is_typed_where_they_are_installed(self):
        typed = tuple(re.findall(r"\btyped\('([^']+)'", packages.PROGRAM.read_text()))
        commands = [command for block in blocks.read('packages') for command in block.commands]
        self.assertEqual(
            set(plans.WITHOUT_PACKAGES), {command for command in commands if not command.startswith(typed)}
        )

    def test_way_to_directories_of_root_is_that_of_the_packages(self):
        """tests/packages/in_guest.py types that one."""
        readme = (ROOT / 'tools/packaging/debian/manila-lite-common.README.Debian').read_text()
        steps = readme.partition('Directories of root\n---')[2].partition('Removal\n---')[0]
        theirs = [line.strip() for line in steps.splitlines() if line.startswith('     ')]
        page = [
            command
            for block in blocks.read('upgrade')
            if block.section == 'Directories of root'
            for command in block.commands
        ]
        self.assertLess(5, len(page))
        self.assertEqual([], [command for command in page if command not in theirs])
        self.assertEqual(
            ['dpkg-reconfigure manila-lite-common'], [command for command in theirs if command not in page]
        )

    def test_each_block_says_what_it_is(self):
        for page in plans.PAGES:
            found = blocks.read(page)
            self.assertTrue(found)
            for block in found:
                self.assertIn(
                    'console' if block.commands and not block.caption else block.language,
                    ('console', 'mysql', 'ini', 'cfg', 'systemd', 'yaml'),
                    block,
                )
                self.assertEqual(block.language in ('console', 'mysql'), not block.caption, block)
                self.assertTrue(block.commands or block.language != 'console', block)


class Typed(testtools.TestCase):
    """A test with a machine. ``DISKS``: its disks, by their path."""

    DISKS = ()
    #: It installs packages, which takes minutes beside other tests.
    LIMITS = 3

    def setUp(self):
        super().setUp()
        try:
            self.machine = self.useFixture(
                Machine({path: self.useFixture(Disk()).device for path in self.DISKS})
            )
        except Missing as why:
            self.skipTest(f'a fresh Debian needs {why}')
        copy_checkout(ROOT, self.machine.file('/root/manila_lite'))
        self.reader = self.reads()
        self.reader.type('cd manila_lite')

    def reads(self):
        raise NotImplementedError

    def share(self, name):
        self.reader.type(f'openstack share create --name {name} --wait NFS 1')

    def names(self):
        return sorted(self.reader.type('openstack share list --format value --column Name').split())


class OneHost(Typed):
    """One machine with everything."""

    DISKS = ('/dev/disk/by-id/DISK', '/dev/disk/by-id/SECOND')

    def reads(self):
        self.servers = []
        return Reader(
            self.machine,
            {'linux_peers = ': 'migration_driver_continue_update_interval = 1\nlinux_peers = '},
            seen={
                'openstack share service list': r'\bup\b.*\bup\b',
                'openstack share pool list --backend large': 'store1@large#pool',
                'openstack share pool list': 'store1@fast#pool',
                'openstack share list': '',
                # It is refused until the first migration has deleted its source.
                'openstack share migration start first store1@fast#pool': '',
                'openstack share migration show first': 'migration_driver_phase1_done',
                'openstack share show first --column host': 'store1@large',
                'openstack share show first --column task_state': 'migration_cancelled',
            },
            before={
                'openstack share pool list': lambda: self.reader.type(
                    'openstack share pool list --backend large'
                ),
                'openstack share migration cancel first': self.move_back,
            },
            after={
                'manila-manage db version': lambda: self.share('later'),
                'openstack share migration complete first': lambda: self.reader.type(
                    'openstack share show first --column host'
                ),
                'openstack share migration cancel first': lambda: self.reader.type(
                    'openstack share show first --column task_state'
                ),
                'systemctl daemon-reload': self.note_server,
            },
        )

    def move_back(self):
        self.reader.type(
            'openstack share migration start first store1@fast#pool '
            '--writable False --nondisruptive False --preserve-metadata True --preserve-snapshots True'
        )
        self.reader.type('openstack share migration show first')

    def note_server(self):
        """Note which program is the API."""
        self.servers.append(
            self.reader.type('ps --no-headers -o args $(systemctl show -P MainPID manila-api)')
        )

    def test_one_host(self):
        for step in plans.ONE_HOST:
            self.reader.read(step)
            if check := getattr(self, f'check_{step.page.replace("-", "_")}', None):
                check()

    def check_install_debian(self):
        self.assertIn('192.0.2.11:/', self.reader.type('openstack share export location list first'))
        self.assertIn(':2049', self.reader.type('ss --no-header --listening --tcp --numeric'))
        self.assertIn(
            'manila_lite',
            self.reader.type('ps --no-headers -o user:20 $(systemctl show -P MainPID manila-api)'),
        )
        for option in ('#auth_strategy = ', '#osapi_share_listen = '):
            self.assertIn(
                option,
                self.machine.file('/root/manila_lite/etc/manila_lite/manila_lite.conf.sample').read_text(),
            )
        self.assertIn(
            '"share:create"',
            self.machine.file('/root/manila_lite/etc/manila_lite/policy.yaml.sample').read_text(),
        )

    def check_backup(self):
        self.assertEqual(['first'], self.names())

    def check_wsgi(self):
        self.assertEqual(['first'], self.names())
        self.assertEqual(
            ['gunicorn', 'uwsgi'], re.findall('gunicorn|uwsgi(?= --ini)', ' '.join(self.servers))
        )


class IdentityService(Keystone):
    """A Keystone in the network of a machine; the page says which users and endpoints there are."""

    def __init__(self, machine):
        super().__init__()
        self._machine = machine

    def _setUp(self):
        Daemon._setUp(self)

    def command(self):
        return [*self._machine.enter('net'), *super().command()]

    def answers(self):
        return self._machine.run(f'curl --silent --fail {self.url}').returncode == 0


class ManyHosts(Typed):
    """A machine that has the names of all hosts of an installation."""

    DISKS = ('/dev/disk/by-id/nvme-pool', '/dev/disk/by-id/sata-pool')
    #: Whether the database is a file; then ``manila-lite`` is the service.
    sqlite = False

    def reads(self):
        try:
            self.keystone = self.useFixture(IdentityService(self.machine))
        except Missing as why:
            self.skipTest(f'no Keystone: {why}')
        return Reader(
            self.machine,
            {
                'https://identity.example.org/v3': self.keystone.url,
                'https://shares.example.org/v2': _URL,
                'cache1:11211': '127.0.0.1:11211',
            },
            seen={
                'manila-manage service list': r'\bup\b.*\bup\b.*\bup\b',
                'manila-manage host list': '(?=.*store1@fast .*up +1)(?=.*store1@large .*up +1)',
                'openstack share list': '',
            },
            before={
                'openstack user create --domain default --password-prompt manila': self.log_in,
                'openstack share type create default false --snapshot-support true': self.ready,
                'apt install apache2-utils': self.log_out,
                'systemctl stop manila-api manila-scheduler manila-share': self.stop_lite,
            },
            after={
                'apt install apache2-utils': self.check_password,
                'manila-manage db version': lambda: self.share('later'),
                'manila-manage doctor --fix': self.start_lite,
                'mv /etc/manila_lite/new.conf /etc/manila_lite/manila_lite.conf': self.forget_sqlite,
            },
        )

    def log_in(self):
        """Get the client, as another page says, and an administrator's login."""
        (client,) = (
            block for block in blocks.read('install-debian') if 'python-openstackclient' in block.text
        )
        for command in client.commands[:3]:
            self.reader.type(command)
        words = {
            'OS_AUTH_URL': self.keystone.url,
            'OS_USERNAME': ADMIN,
            'OS_PASSWORD': self.keystone.password,
            'OS_PROJECT_NAME': ADMIN,
            'OS_USER_DOMAIN_NAME': 'Default',
            'OS_PROJECT_DOMAIN_NAME': 'Default',
            'OS_IDENTITY_API_VERSION': '3',
        }
        self.reader.type('export ' + ' '.join(f'{name}={value}' for name, value in words.items()))
        self.reader.type('openstack project create --domain default service')

    def log_out(self):
        self.reader.type('unset ${!OS_@}')

    def check_password(self):
        """See that the users of the password file have the roles that the page gives them."""
        self.ready()
        login = f'OS_AUTH_TYPE=http_basic OS_PASSWORD={PASSWORD} OS_ENDPOINT={_URL} OS_USERNAME='
        self.assertIn('default', self.reader.type(f'{login}root openstack share type list'))
        refused = self.machine.run(f'{login}demo openstack share type create other false')
        self.assertIn('403', refused.stdout)

    def test_many_hosts(self):
        for step in plans.MANY_HOSTS:
            self.reader.read(step)
        self.use_sqlite()
        for step in plans.OTHER_DATABASES:
            self.reader.read(step)
            self.assertEqual(['first'], self.names())

    def use_sqlite(self):
        """Begin anew, as one process with a database in a file."""
        for command in (
            'systemctl stop manila-api manila-scheduler manila-share',
            f"sed --in-place 's|^connection = .*|connection = {_SQLITE}|' /etc/manila_lite/manila_lite.conf",
            'manila-manage db sync',
        ):
            self.reader.type(command)
        self.sqlite = True
        self.start_lite()
        for command in ('manila-manage host list', 'openstack share type create default false'):
            self.reader.type(command)
        self.share('first')

    def start_lite(self):
        if self.sqlite:
            self.reader.type('systemctl start manila-lite')
            self.ready()

    def ready(self):
        """Wait until the API answers, after a restart."""
        self.reader.type(
            f'curl --fail --retry 60 --retry-delay 1 --retry-connrefused {_URL.removesuffix("v2")}readiness'
        )

    def stop_lite(self):
        if self.sqlite:
            self.reader.type('systemctl stop manila-lite')

    def forget_sqlite(self):
        self.sqlite = False
