# SPDX-License-Identifier: Apache-2.0
"""Versions, images and containers that tools/package makes or describes."""

import functools
import hashlib
import http.server
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
from importlib import metadata
from pathlib import Path

import fixtures
import testtools
import yaml
from oslo_config import cfg

from manila_lite import conf as options
from manila_lite.cmd import settings
from manila_lite.tests import waiting
from manila_lite.tests.contract.test_checks import ROOT

TOOLS = ROOT / 'tools/packaging'
COMPOSE = ROOT / 'etc/manila_lite/compose'


def run(*words, **more):
    """Run a command, which must succeed; return its output."""
    return subprocess.run(
        [str(word) for word in words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=waiting.LIMIT,
        **more,
    ).stdout


class FolderCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)


class Version(FolderCase):
    """The version of a small tree."""

    def setUp(self):
        super().setUp()
        (self.folder / 'setup.cfg').write_text('[metadata]\nname = manila-lite\nversion = 0.1.0\n')

    def git(self, *words):
        run('git', '-c', 'user.name=t', '-c', 'user.email=t@example.org', '-C', self.folder, *words)

    def commit(self):
        self.git('commit', '--quiet', '--allow-empty', '--message=x')

    def version(self):
        return tuple(run(sys.executable, TOOLS / 'version.py', self.folder).split())

    def test_version_without_git_is_that_of_the_tree(self):
        self.assertEqual(('0.1.0', '0.1.0'), self.version())

    def test_version_without_a_tag_counts_the_commits(self):
        self.git('init', '--quiet')
        self.commit()
        self.commit()
        self.assertEqual(('0.1.0+git2', '0.1.0+git2'), self.version())

    def test_version_of_a_tag_and_of_commits_after_it(self):
        self.git('init', '--quiet')
        self.commit()
        self.git('tag', '--annotate', '--message=x', '0.2.0')
        self.assertEqual(('0.2.0', '0.2.0'), self.version())
        self.commit()
        self.assertEqual(('0.2.1.dev1', '0.2.1~dev1'), self.version())

    def test_release_that_is_being_made_is_above_the_tag_before_and_below_itself(self):
        (self.folder / 'setup.cfg').write_text('[metadata]\nname = manila-lite\nversion = 0.2.0.dev0\n')
        self.git('init', '--quiet')
        self.commit()
        self.assertEqual(('0.2.0.dev1', '0.2.0~dev1'), self.version())
        self.git('tag', '--annotate', '--message=x', '0.1.0')
        self.commit()
        self.assertEqual(('0.2.0.dev2', '0.2.0~dev2'), self.version())
        self.git('tag', '--annotate', '--message=x', '0.2.0')
        self.assertEqual(('0.2.0', '0.2.0'), self.version())

    def test_versions_are_in_order_for_dpkg(self):
        versions = ['0.1.0+git2', '0.1.0+git10', '0.2.0~dev2', '0.2.0', '0.2.1~dev1', '0.2.1']
        for low, high in itertools.pairwise(versions):
            run('dpkg', '--compare-versions', low, 'lt', high)


class Repository(FolderCase):
    """A repository of small packages, read by this machine's apt in directories of its own."""

    def setUp(self):
        super().setUp()
        if lacks := [name for name in ('apt-get', 'dpkg-scanpackages', 'gpg') if not shutil.which(name)]:
            self.skipTest(f'{", ".join(lacks)} is not here')
        self.home = self.folder / 'repository'
        self.keys = Path(
            self.useFixture(fixtures.TempDir(rootdir='/tmp')).path
        )  # gpg's socket has a short path
        self.useFixture(fixtures.EnvironmentVariable('GNUPGHOME', str(self.keys)))
        self.addCleanup(run, 'gpgconf', '--kill', 'all')
        # gpg would wait for five seconds until one that it starts answers.
        nothing = subprocess.DEVNULL
        subprocess.run(['gpg-agent', '--daemon'], stdin=nothing, stdout=nothing, stderr=nothing, check=True)
        self.make_key('one@example.org')
        self.address = f'file://{self.home}'
        self.published = 0

    def make_key(self, name):
        run(
            'gpg',
            '--batch',
            '--quiet',
            '--passphrase',
            '',
            '--quick-generate-key',
            name,
            'ed25519',
            'sign',
            'never',
        )

    def make(self, version, text='text'):
        """Make a package; return its path."""
        tree = self.folder / 'tree'
        (tree / 'DEBIAN').mkdir(parents=True, exist_ok=True)
        (tree / 'text').write_text(text)
        (tree / 'DEBIAN/control').write_text(
            f'Package: small\nVersion: {version}\nArchitecture: all\nMaintainer: t <t@example.org>\nDescription: small\n'
        )
        deb = self.folder / f'small_{version}_all.deb'
        run('dpkg-deb', '--root-owner-group', '--build', tree, deb)
        return deb

    def publish(self, *debs, key='one@example.org'):
        run(sys.executable, TOOLS / 'repository.py', self.home, key, 'bookworm', *debs)
        # apt reads what is newer by a second at least.
        self.published += 10
        os.utime(self.home / 'dists/bookworm/InRelease', (self.published, self.published))

    def refused(self, *debs, key='one@example.org'):
        words = [sys.executable, TOOLS / 'repository.py', self.home, key, 'bookworm', *debs]
        done = subprocess.run(
            words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=waiting.LIMIT
        )
        self.assertEqual(1, done.returncode)
        return done.stderr

    def apt(self, *words):
        """Run a command of apt with nothing of this machine but its programs. Return the finished process."""
        apt = self.folder / 'apt'
        for name in ('state/lists/partial', 'cache/archives/partial', 'etc/parts'):
            (apt / name).mkdir(parents=True, exist_ok=True)
        (apt / 'status').touch()
        text = (ROOT / 'doc/source/admin/packages.rst').read_text()
        source = re.search(r'(?m)^   Types: deb\n(?:   .*\n)+', text)[0].replace('   ', '')
        replaced = {
            'http://packages.example.org/manila-lite': self.address,
            '/etc/apt/keyrings/manila-lite.asc': str(apt / 'etc/manila-lite.asc'),
        }
        for old, new in replaced.items():
            self.assertIn(old, source)
            source = source.replace(old, new)
        (apt / 'etc/list.sources').write_text(source)
        (apt / 'conf').write_text(
            f'Dir::State "{apt}/state"; Dir::State::status "{apt}/status"; Dir::Cache "{apt}/cache"; Dir::Etc "{apt}/etc";\n'
            'Dir::Etc::sourcelist "list.sources"; Dir::Etc::sourceparts "parts"; Dir::Etc::parts "parts";\n'
            'Dir::Etc::main "none"; Dir::Etc::trusted "none"; Dir::Etc::trustedparts "parts"; APT::Sandbox::User "root";\n'
            'Acquire::http::Proxy "DIRECT"; Acquire::Languages "none";\n'
        )
        return subprocess.run(
            words,
            cwd=self.folder / 'apt',
            env=os.environ | {'APT_CONFIG': str(apt / 'conf')},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
        )

    def trust(self):
        """Trust the key of the repository, as a host does once."""
        self.apt('true')
        shutil.copy(self.home / 'manila-lite.asc', self.folder / 'apt/etc')

    def update(self):
        """Read the lists; return what went wrong."""
        done = self.apt('apt-get', 'update', '--error-on=any')
        return '' if done.returncode == 0 else done.stdout + done.stderr

    def versions(self):
        return re.findall(r'small \| +(\S+) \|', self.apt('apt-cache', 'madison', 'small').stdout)

    def test_apt_reads_packages_from_the_directory(self):
        deb = self.make('1')
        self.publish(deb)
        self.trust()
        self.assertEqual('', self.update())
        self.assertEqual(['1'], self.versions())
        self.assertEqual(0, self.apt('apt-get', 'download', 'small').returncode)
        self.assertEqual(deb.read_bytes(), (self.folder / 'apt' / deb.name).read_bytes())

    def test_apt_reads_packages_from_a_web_server(self):
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=self.home)
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
        self.useFixture(
            fixtures.MonkeyPatch('http.server.SimpleHTTPRequestHandler.log_message', lambda *words: None)
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.address = f'http://127.0.0.1:{server.server_port}'
        self.publish(self.make('1'))
        self.trust()
        self.assertEqual('', self.update())
        self.publish(self.make('2'))
        self.assertEqual('', self.update())
        self.assertEqual(['2', '1'], self.versions())
        self.assertEqual(0, self.apt('apt-get', 'download', 'small').returncode)

    def test_what_the_key_has_not_signed_is_refused(self):
        self.publish(self.make('1'))
        self.trust()
        index = self.home / 'dists/bookworm/main/binary-amd64'
        for path in [*index.glob('Packages*'), *index.glob('by-hash/*/*')]:
            path.write_bytes(b'Package: other\n')
        self.assertIn('Hash Sum mismatch', self.update())
        self.make_key('two@example.org')
        self.publish(key='two@example.org')
        self.assertIn('NO_PUBKEY', self.update())

    def test_package_with_new_content_needs_a_new_version(self):
        deb = self.make('1')
        self.publish(deb)
        self.publish(deb)
        self.assertIn('has another content', self.refused(self.make('1', 'other')))

    def test_old_indexes_go_after_a_day(self):
        self.publish(self.make('1'))
        indexes = self.home / 'dists/bookworm/main/binary-amd64/by-hash/SHA256'
        old = [*indexes.iterdir()]
        self.publish(self.make('2'))
        self.assertLess(set(old), set(indexes.iterdir()))
        for path in old:
            os.utime(path, (0, 0))
        self.publish()
        self.assertEqual(set(), set(old) & set(indexes.iterdir()))
        self.assertEqual(2, len([*indexes.iterdir()]))

    def test_key_that_gpg_does_not_know_is_named(self):
        self.assertIn("gpg knows no key 'three'", self.refused(self.make('1'), key='three'))
        done = subprocess.run(
            [ROOT / 'tools/package', '--venv', sys.prefix, '--repository', self.home, '--key', 'three'],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=waiting.LIMIT,
        )
        self.assertEqual(1, done.returncode)
        self.assertIn("gpg has no secret key 'three'", done.stderr)


class Requirements(testtools.TestCase):
    def test_missing_requirements_are_named(self):
        words = [sys.executable, TOOLS / 'closure.py']
        self.assertEqual('', run(*words).strip())
        self.assertEqual(
            ['no-such-package', 'testtools>=9999'], run(*words, 'no-such-package', 'testtools>=9999').split()
        )


class Pages(testtools.TestCase):
    def test_each_command_has_a_summary_and_no_other(self):
        found = re.findall(r"^    '([a-z-]+)': '", (TOOLS / 'manpages.py').read_text(), re.MULTILINE)
        self.assertEqual(
            sorted(
                entry.name
                for entry in metadata.entry_points(group='console_scripts')
                if entry.module.startswith('manila_lite.')
            ),
            sorted(found),
        )


class Image(FolderCase):
    """An image of one file."""

    def setUp(self):
        super().setUp()
        with tarfile.open(self.folder / 'root.tar', 'w') as archive:
            entry = tarfile.TarInfo('etc/file')
            entry.size = 4
            archive.addfile(entry, io.BytesIO(b'text'))
        self.image = self.folder / 'image.tar'
        run(
            sys.executable,
            TOOLS / 'oci.py',
            self.folder / 'root.tar',
            'manila-lite',
            '0.1.0+git2',
            self.image,
        )
        with tarfile.open(self.image) as archive:
            self.files = {entry.name: archive.extractfile(entry).read() for entry in archive}

    def blob(self, descriptor):
        """Return the content that a descriptor means, which must fit it."""
        content = self.files[f'blobs/sha256/{descriptor["digest"].removeprefix("sha256:")}']
        self.assertEqual(
            (descriptor['size'], descriptor['digest']),
            (len(content), f'sha256:{hashlib.sha256(content).hexdigest()}'),
        )
        return content

    def test_image_has_the_layout_of_oci_and_its_digests_fit(self):
        self.assertEqual({'imageLayoutVersion': '1.0.0'}, json.loads(self.files['oci-layout']))
        (named,) = json.loads(self.files['index.json'])['manifests']
        self.assertEqual('0.1.0-git2', named['annotations']['org.opencontainers.image.ref.name'])
        manifest = json.loads(self.blob(named))
        config = json.loads(self.blob(manifest['config']))
        (layer,) = manifest['layers']
        with tarfile.open(fileobj=io.BytesIO(self.blob(layer))) as unpacked:
            self.assertEqual(b'text', unpacked.extractfile('etc/file').read())
        plain = hashlib.sha256((self.folder / 'root.tar').read_bytes()).hexdigest()
        self.assertEqual([f'sha256:{plain}'], config['rootfs']['diff_ids'])
        self.assertEqual('manila_lite', config['config']['User'])

    def test_same_content_gives_the_same_image(self):
        again = self.folder / 'again.tar'
        run(sys.executable, TOOLS / 'oci.py', self.folder / 'root.tar', 'manila-lite', '0.1.0+git2', again)
        self.assertEqual(self.image.read_bytes(), again.read_bytes())


class Compose(testtools.TestCase):
    """The services of compose.yaml, which no test starts."""

    def setUp(self):
        super().setUp()
        self.services = yaml.safe_load((COMPOSE / 'compose.yaml').read_text())['services']
        self.ours = {name: one for name, one in self.services.items() if 'MANILA_LITE_IMAGE' in one['image']}

    def test_services_run_our_commands(self):
        commands = {entry.name for entry in metadata.entry_points(group='console_scripts')}
        self.assertEqual({'api', 'scheduler', 'schema', 'share'}, set(self.ours))
        for name, service in self.ours.items():
            self.assertIn(service['command'][0], commands, name)
        for name in {one for service in self.services.values() for one in service.get('depends_on', ())}:
            self.assertIn(name, self.services)

    def test_configuration_has_known_options(self):
        conf = options.register(cfg.ConfigOpts())
        conf([f'--config-file={COMPOSE / "manila_lite.conf"}'], project='manila_lite')
        self.assertEqual([], [str(doubt) for doubt in settings.find_doubtful(conf)])

    def test_services_take_options_from_the_environment(self):
        env = {
            name: re.sub(r'\$\{.*?\}', 'replaced', value)
            for service in self.ours.values()
            for name, value in service['environment'].items()
        }
        self.assertLess(1, len(env))
        told = run(
            sys.executable,
            '-c',
            'from manila_lite.cmd.manage import main; main()',
            '--config-file',
            COMPOSE / 'manila_lite.conf',
            'config',
            'list',
            '--changed',
            '--format',
            'json',
            env=os.environ | env,
        )
        self.assertLessEqual(
            {*env, str(COMPOSE / 'manila_lite.conf')}, {option['set by'] for option in json.loads(told)}
        )
