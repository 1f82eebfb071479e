# SPDX-License-Identifier: Apache-2.0
"""Pages of the documentation: the commands for users work, and all commands and options that they name exist."""

import os
import re
import textwrap
from importlib import metadata
from pathlib import Path

import testscenarios
import testtools
from keystoneauth1 import loading
from oslo_config import cfg

from manila_lite import conf as options
from manila_lite import policies
from manila_lite.api.server import connection_limits
from manila_lite.cmd import settings
from manila_lite.cmd.manage.categories import commands
from manila_lite.siblings.compute import conf as compute
from manila_lite.siblings.compute.drivers import qemu_options
from manila_lite.siblings.dataproc import conf as dataproc
from manila_lite.tests import forks, process

DOC = Path(__file__).resolve().parents[4] / 'doc' / 'source'
UNITS = DOC.parents[1] / 'etc' / 'manila_lite' / 'systemd'

_CLI = [page.stem for page in (DOC / 'user').glob('*.rst') if '$ openstack' in page.read_text()]
_PYTHON = re.compile(r'.. code-block:: python\n\n((?:(?:   .*)?\n)+)')
_OUTPUT = re.compile(r'.. code-block:: text\n   :class: output\n\n((?:(?:   .*)?\n)+)')
_CFG = re.compile(r'.. code-block:: cfg\n\n((?:(?:   .*)?\n)+)')
_INI = re.compile(r'\.\. code-block:: ini\n(?: +:caption: .*\n)?\n((?:(?:   .*)?\n)+)')
_MANAGE = re.compile(r'(?<![\w/.-])manila-manage ((?:--config-file \S+ )?)([a-z_]+)(?: ([a-z_]+))?')

#: Id of a user who is not root.
_NOBODY = 65534
#: Units of services whose mounts, servers and guests outlive the service.
_MOUNTING = {'manila-lite', 'manila-share', 'mlite-compute-agent'}
#: Pages with the configuration of a sibling, the function for its options, and its drivers' options by group.
_SIBLINGS = {
    'compute-service.rst': (compute.register_opts, {'compute_qemu': qemu_options.OPTIONS}),
    'data-processing-service.rst': (dataproc.register_opts, {}),
}
#: Settings by which a unit gets a mount namespace.
_OWN_MOUNTS = {
    'PrivateTmp',
    'PrivateDevices',
    'ProtectSystem',
    'ProtectHome',
    'ReadWritePaths',
    'ProtectControlGroups',
    'ProtectKernelTunables',
    'ProtectKernelModules',
    'ProtectKernelLogs',
}


def told(text):
    """Return the lines of what commands print, without what differs from run to run: ids, times, widths of tables."""
    text = re.sub(r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'ID', text)
    text = re.sub(r'\d{4}-\d\d-\d\dT[\d:.]+', 'TIME', text)
    return [' '.join(line.split()) for line in text.splitlines() if line.strip(' +-.')]


class Typed(testscenarios.WithScenarios, testtools.TestCase):
    """Pages for users, each with a service of its own."""

    scenarios = [(page, {'page': page}) for page in sorted(_CLI)]

    def setUp(self):
        super().setUp()
        self.lite = self.useFixture(process.Lite())
        self.lite.start()
        self.lite.ok('POST', '/types', process.DEFAULT_TYPE)
        self.url = f'http://127.0.0.1:{self.lite.port}/v2'

    def run_page(self, command, *words):
        clean = {key: value for key, value in os.environ.items() if not key.startswith('OS_')}
        done = forks.run(command, *words, env=clean | {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': self.url})
        self.assertEqual(0, done.returncode, f'{done.stdout}{done.stderr}\n{self.lite.tail()}')
        self.assertEqual([], self.lite.ok('GET', '/shares')['shares'])
        return done.stdout

    def test_examples_of_the_page_work(self):
        path = DOC / 'user' / f'{self.page}.rst'
        typed = len(re.findall(r'^ +\$ .*openstack ', path.read_text(), re.MULTILINE))
        out = self.run_page('manila_lite.tests.openstack_page:main', path)
        self.assertEqual(typed, out.count('$ openstack'))
        printed = iter(told(out))
        shown = told(''.join(_OUTPUT.findall(path.read_text())))
        self.assertEqual(
            [], [line for line in shown if line not in printed], f'not printed in this order:\n{out}'
        )
        self.assertEqual(self.page == 'tour', bool(shown))


class Python(Typed):
    """The examples in Python of a page, as one program."""

    scenarios = [
        ('sdk', {'page': 'sdk', 'has': 'create_share_snapshot', 'says': ':/shares/'}),
        ('progress', {'page': 'progress', 'has': '/operations', 'says': 'share.create done'}),
    ]

    def test_examples_of_the_page_work(self):
        page = (DOC / 'user' / f'{self.page}.rst').read_text().replace('http://127.0.0.1:8786/v2', self.url)
        program = '\n'.join(line.removeprefix('   ') for line in ''.join(_PYTHON.findall(page)).splitlines())
        self.assertIn(self.has, program)
        self.assertIn(self.says, self.run_page('manila_lite.tests.openstack_page:program', program))


class Named(testtools.TestCase):
    """Commands, options and rules that pages for operators name."""

    def pages(self):
        return {page.name: page.read_text() for page in (DOC / 'admin').glob('*.rst')}

    def test_commands_exist(self):
        known = {(command.category, command.name) for command in commands()}
        found = set()
        for name, text in self.pages().items():
            for _, category, word in _MANAGE.findall(text):
                found.add((category, '' if category == 'doctor' else word))
                self.assertIn((category, '' if category == 'doctor' else word), known, name)
        self.assertLess(4, len(found))

    def test_options_exist(self):
        self.assertEqual(
            1, len(self.doubts('   [DEFAULT]\n   no_such_option = 1\n')), 'what is none would not be noticed'
        )
        blocks = {name: _INI.findall(text) for name, text in self.pages().items()}
        self.assertEqual(
            {name: text.count('.. code-block:: ini') for name, text in self.pages().items()},
            {name: len(found) for name, found in blocks.items()},
            'one is not read',
        )
        self.assertLess(10, sum(map(len, blocks.values())))
        for name, found in blocks.items():
            for block in found:
                self.assertRegex(block, r'(?m)^ +\w+ *=')
                self.assertEqual([], self.doubts(block), name)

    def doubts(self, block):
        conf = options.register(cfg.ConfigOpts())
        path = Path(self.useFixture(process.fixtures.TempDir()).path) / 'x.conf'
        lines = textwrap.dedent(block).splitlines()
        backends = [line[1:-1] for line in lines if line.startswith('[')]
        path.write_text('\n'.join(lines))
        conf([f'--config-file={path}'], project='manila_lite')
        drivers = [name for name in backends if 'driver' in self.section(path, name)]
        conf.set_override('enabled_share_backends', drivers)
        return [str(doubt) for doubt in settings.find_doubtful(conf)]

    def test_options_of_siblings_exist(self):
        for name, (register, more) in _SIBLINGS.items():
            conf = options.register(cfg.ConfigOpts())
            register(conf)
            for group in {'share_service', 'compute_service'} & set(conf):
                conf.register_opts(loading.get_auth_plugin_conf_options('password'), group=group)
            for group, opts in more.items():
                conf.register_opts(opts, group=group)
            path = Path(self.useFixture(process.fixtures.TempDir()).path) / 'x.conf'
            path.write_text(
                '\n'.join(
                    line.removeprefix('   ')
                    for block in _CFG.findall((DOC / 'admin' / name).read_text())
                    for line in block.splitlines()
                )
            )
            conf([f'--config-file={path}'], project='manila_lite')
            sections = {}
            cfg.ConfigParser(str(path), sections).parse()
            self.assertEqual(
                [],
                [
                    (group, key)
                    for group, said in sections.items()
                    for key in said
                    if key not in (conf if group == 'DEFAULT' else conf[group])
                ],
                name,
            )
            self.assertLess(4, len(sections))

    @staticmethod
    def section(path, name):
        sections = {}
        cfg.ConfigParser(str(path), sections).parse()
        return sections[name]

    def test_policy_rules_exist(self):
        known = {rule.name for rule in policies.list_rules()}
        named = re.findall(r'^   "([\w:]+)": "rule:(\w+)"', self.pages()['authentication.rst'], re.MULTILINE)
        self.assertTrue(named)
        for pair in named:
            self.assertLessEqual(set(pair), known)

    def test_namespaces_of_the_sample_are_known(self):
        generator = (UNITS.parent / 'config-generator.conf').read_text()
        self.assertLessEqual(
            set(re.findall(r'^namespace = (\S+)$', generator, re.MULTILINE)), set(settings.NAMESPACES)
        )

    def test_systemd_units_run_our_commands_and_restrict_themselves(self):
        scripts = {
            point.name
            for point in metadata.entry_points(group='console_scripts')
            if point.value.startswith('manila_lite.')
        }
        units = sorted(UNITS.glob('*.service'))
        self.assertEqual(
            [
                'manila-api',
                'manila-lite',
                'manila-scheduler',
                'manila-share',
                'mlite-compute-agent',
                'mlite-compute-api',
                'mlite-dataproc-api',
                'mlite-dataproc-engine',
            ],
            [unit.stem for unit in units],
        )
        for unit in units:
            text = unit.read_text()
            self.assertIn(unit.stem, scripts)
            self.assertRegex(text, rf'(?m)^ExecStart=\S+/{unit.stem} --config-file \S+$')
            self.assertEqual(unit.stem in _MOUNTING, 'KillMode=process' in text)
            settings_of = {line.partition('=')[0] for line in text.splitlines() if not line.startswith('#')}
            # A mount namespace suits services that mount nothing. Where shares are served it would end file access.
            self.assertEqual(
                set() if unit.stem in _MOUNTING else _OWN_MOUNTS, settings_of & _OWN_MOUNTS, unit
            )
            self.assertIn('\nLimitCORE=0\n', text)  # a core file would hold passwords and keys
            self.assertLessEqual({'ExecReload', 'Restart', 'TimeoutStopSec', 'LockPersonality'}, settings_of)
            # The default of 1024 is less than the connections that an API may have.
            most = int(re.search(r'(?m)^LimitNOFILE=(\d+)$', text)[1])
            self.assertGreater(most, 4 * connection_limits.DEFAULTS.connections, unit)
