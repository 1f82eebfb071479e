# SPDX-License-Identifier: Apache-2.0
"""Options are documented and found by the sample generator, and a mistake in one is a clear line."""

import importlib
import pathlib
import pkgutil
import subprocess
import sys

import fixtures
import testtools

import manila_lite.conf
from manila_lite.conf import opts
from manila_lite.tests import waiting

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Options(testtools.TestCase):
    def test_every_module_is_listed_and_registered(self):
        names = {info.name for info in pkgutil.iter_modules(manila_lite.conf.__path__)} - {'numeric', 'opts'}
        always = {module.__name__.rpartition('.')[2] for module in manila_lite.conf.MODULES}
        self.assertEqual(names, always | {*manila_lite.conf.ON_USE})
        self.assertEqual(names, {module.__name__.rpartition('.')[2] for module in opts.modules()})
        for name in names:
            module = importlib.import_module(f'manila_lite.conf.{name}')
            self.assertTrue(any(module.OPTIONS.values()), name)

    def test_each_option_has_a_help_text(self):
        for group, options in opts.list_opts():
            for option in options:
                self.assertTrue((option.help or '').strip().endswith(('.', ')')), f'[{group}] {option.name}')

    def test_names_are_unique_in_a_group(self):
        names = [(group, option.dest) for group, options in opts.list_opts() for option in options]
        self.assertEqual(len(names), len(set(names)))

    def test_the_sample_has_every_option(self):
        target = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'sample'
        done = subprocess.run(
            [
                sys.executable,
                '-c',
                'import sys; from oslo_config.generator import main; sys.exit(main())',
                '--config-file',
                str(ROOT / 'etc/manila_lite/config-generator.conf'),
                '--output-file',
                str(target),
            ],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        lines = target.read_text().splitlines()
        for group, options in opts.list_opts():
            self.assertIn(f'[{group}]', lines)
            for option in options:
                self.assertTrue(
                    any(line.startswith((f'#{option.dest} =', f'#{option.name} =')) for line in lines),
                    option.name,
                )

    def test_policy_sample_generator_is_configured(self):
        target = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'policy.yaml'
        done = subprocess.run(
            [
                sys.executable,
                '-c',
                'from oslo_policy.generator import generate_sample; generate_sample()',
                '--config-file',
                str(ROOT / 'etc/manila_lite/policy-generator.conf'),
                '--output-file',
                str(target),
            ],
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn('"share:create"', target.read_text())


_GOOD = {
    'state_path': '{state}',
    'auth_strategy': 'noauth',
    'enabled_share_backends': 'alpha',
    'osapi_share_listen': '127.0.0.1',
    'osapi_share_listen_port': '0',
}


def config(sections='', backend='driver = dummy', **options):
    """Return a configuration that works but for the given options; an option that is None is left out."""
    lines = [f'{name} = {value}' for name, value in {**_GOOD, **options}.items() if value is not None]
    return '\n'.join(
        ['[DEFAULT]', *lines, sections, *(['[alpha]', backend] if backend is not None else []), '']
    )


_PASSWORDS = '[api]\nhttp_basic_auth_user_file = {state}/'

#: Name of the mistake: the file, and the words that its line must have.
MISTAKES = {
    'unknown driver': (config(backend='driver = nonsense'), ('driver', 'nonsense', 'dummy')),
    'no section': (config(backend=None), ('[alpha]', 'driver')),
    'no driver': (config(backend='share_backend_name = x'), ('[alpha]', 'driver')),
    'no backends': (config(enabled_share_backends=None), ('enabled_share_backends',)),
    'strategy': (config(auth_strategy='kerberos'), ('auth_strategy', 'kerberos', 'noauth')),
    'no passwords': (
        config(auth_strategy='http_basic', sections=f'{_PASSWORDS}none'),
        ('http_basic_auth_user_file', '/none', 'No such file'),
    ),
    'passwords in another form': (
        config(auth_strategy='http_basic', sections=f'{_PASSWORDS}bad.yaml'),
        ('http_basic_auth_user_file', 'bad.yaml', 'bcrypt'),
    ),
    'health checks': (
        config('[healthcheck]\nbackends = disable_by_file,enable_by_files'),
        ('[healthcheck] backends', 'one of'),
    ),
    'accounts': (
        config(auth_strategy='http_basic', sections=f'{_PASSWORDS}htpasswd\nhttp_basic_accounts = nonsense'),
        ('http_basic_accounts', 'nonsense'),
    ),
    'state path': (config(state_path='{state}/htpasswd/below'), ('state_path',)),
    'address': (config(osapi_share_listen='nonsense'), ('osapi_share_listen',)),
    'port': (config(osapi_share_listen_port='a'), ('osapi_share_listen_port',)),
    'address of another machine': (
        config('[api]\nallow_remote_noauth = true', osapi_share_listen='192.0.2.1'),
        ('192.0.2.1', 'osapi_share_listen'),
    ),
    'administrators from elsewhere': (
        config(osapi_share_listen='192.0.2.1'),
        ('auth_strategy', 'allow_remote_noauth'),
    ),
    'option of the driver': (
        config(backend='driver = dummy\ndummy_pool_size_gb = many'),
        ('[alpha]', 'dummy_pool_size_gb'),
    ),
    'option of the backend': (
        config(backend='driver = dummy\ndriver_handles_share_servers = perhaps'),
        ('[alpha]', 'driver_handles_share_servers'),
    ),
    'networks of share servers': (
        config(
            '[standalone_network]\nfile = {state}/none.yaml',
            backend='driver = dummy\ndriver_handles_share_servers = true',
        ),
        ('[standalone_network] file', 'none.yaml'),
    ),
    'database': (config('[database]\nconnection = nonsense'), ('[database] connection',)),
    'kind of database': (
        config('[database]\nconnection = nonsense://x/y'),
        ('[database] connection', 'nonsense'),
    ),
    'place of the database': (
        config('[database]\nconnection = sqlite:////nowhere/at/all.sqlite'),
        ('[database] connection', 'there is no directory /nowhere/at;'),
    ),
    'transport': (config(transport_url='nonsense'), ('transport_url',)),
    'kind of transport': (config(transport_url='nonsense://x/'), ('transport_url', 'nonsense')),
    'policy file': (config('[oslo_policy]\npolicy_file = {state}/bad.yaml'), ('policy_file', 'share:get')),
    'not a configuration': ('[DEFAULT\nx', ('not_a_configuration.conf',)),
    'not a text': ('[DEFAULT]\nhost = \udcff', ('utf-8',)),
    'no file': (None, ('no_file.conf',)),
}

#: Tries each file in a forked child, which saves importing all modules anew.
_SCRIPT = """
import os, sys
from manila_lite.cmd import all_in_one

for path in sys.argv[1:]:
    child = os.fork()
    if not child:
        errors = os.open(path + '.err', os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        sys.argv[1:] = ['--config-file=' + path]
        sys.exit(all_in_one.main())
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Mistakes(testtools.TestCase):
    """Each mistake is one line on stderr that names the option, with exit status 1, and nothing has started."""

    def setUp(self):
        super().setUp()
        self.state = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (self.state / 'htpasswd').write_text('a:$2b$04$' + 'x' * 53 + '\n')
        (self.state / 'bad.yaml').write_text('"share:get": "role:(\n')

    def write(self, name, text):
        path = self.state / f'{name.replace(" ", "_")}.conf'
        if text is not None:
            path.write_bytes(text.replace('{state}', str(self.state)).encode('utf-8', 'surrogateescape'))
        return path

    def run_python(self, *argv):
        return subprocess.run(
            [sys.executable, *argv], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )

    def assert_one_line(self, said, words):
        lines = [line for line in said.splitlines() if not is_log(line)]
        self.assertEqual(1, len(lines), said)
        self.assertNotIn('Traceback', said)
        self.assertNotIn('%(', said, 'a field is left open')
        for word in words:
            self.assertIn(word, lines[0])

    def test_each_mistake_is_reported_in_one_line_that_names_it(self):
        paths = {name: self.write(name, text) for name, (text, _) in MISTAKES.items()}
        done = self.run_python('-c', _SCRIPT, *map(str, paths.values()))
        self.assertEqual(['1'] * len(MISTAKES), done.stdout.split(), done.stderr)
        for name, (_, words) in MISTAKES.items():
            self.assert_one_line(pathlib.Path(f'{paths[name]}.err').read_text(), words)

    def test_command_reports_a_mistake_in_one_line_and_exits_with_1(self):
        path = self.write('command', config(auth_strategy='kerberos'))
        done = self.run_python('-m', 'manila_lite.cmd.all_in_one', f'--config-file={path}')
        self.assertEqual((1, ''), (done.returncode, done.stdout))
        self.assert_one_line(done.stderr, ('auth_strategy',))

    def test_unknown_argument_is_refused_without_a_traceback(self):
        done = self.run_python('-m', 'manila_lite.cmd.all_in_one', '--nonsense')
        self.assertIn(done.returncode, (1, 2))
        self.assertIn('--nonsense', done.stderr)
        self.assertNotIn('Traceback', done.stderr)


def is_log(line):
    """Say whether a line is one of the log, which is on stderr as well."""
    return line[:4].isdigit() and line[4:5] == '-'
