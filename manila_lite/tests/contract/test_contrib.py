# SPDX-License-Identifier: Apache-2.0
"""Examples for other programs: what can be checked without these programs."""

import re
import shutil
import subprocess
from pathlib import Path

import fixtures
import jinja2
import testtools
import yaml
from oslo_config import cfg

from manila_lite import conf as options
from manila_lite.cmd import settings
from manila_lite.tests import waiting
from manila_lite.tests.contract.test_checks import ROOT

CONTRIB = ROOT / 'contrib'
ROLE = CONTRIB / 'ansible/roles/manila_lite'


def documents(path):
    """Return the documents of a YAML file."""
    return list(yaml.safe_load_all(path.read_text()))


class Examples(testtools.TestCase):
    def test_each_directory_is_on_a_page(self):
        listed = dict(
            re.findall(r'(?m)^``([\w-]+)/`` .* (doc/source/\S+)$', (CONTRIB / 'README.rst').read_text())
        )
        self.assertEqual({path.name for path in CONTRIB.iterdir() if path.is_dir()}, set(listed))
        for name, page in listed.items():
            self.assertIn(f'contrib/{name}', (ROOT / f'{page}.rst').read_text())


class Kubernetes(testtools.TestCase):
    def test_names_of_the_objects_fit_together(self):
        found = {
            (one['kind'], one['metadata']['name']): one
            for path in (CONTRIB / 'manila-csi').iterdir()
            for one in documents(path)
        }
        storage, snapshots = found['StorageClass', 'shares'], found['VolumeSnapshotClass', 'shares']
        self.assertEqual(storage['provisioner'], snapshots['driver'])
        secret = found['Secret', 'csi-manila-secrets']['metadata']
        for one in (storage, snapshots):
            for name, value in one['parameters'].items():
                if name.startswith('csi.storage.k8s.io/'):
                    self.assertEqual(secret['namespace' if name.endswith('-namespace') else 'name'], value)
        claim, again = found['PersistentVolumeClaim', 'data'], found['PersistentVolumeClaim', 'data-again']
        snapshot = found['VolumeSnapshot', again['spec']['dataSource']['name']]
        self.assertEqual('data', snapshot['spec']['source']['persistentVolumeClaimName'])
        self.assertEqual('shares', snapshot['spec']['volumeSnapshotClassName'])
        self.assertEqual({'shares'}, {one['spec']['storageClassName'] for one in (claim, again)})

    def test_claim_is_for_the_volume_of_the_share(self):
        volume, claim = documents(CONTRIB / 'csi-driver-nfs/volume.yaml')
        self.assertEqual(volume['metadata']['name'], claim['spec']['volumeName'])
        self.assertEqual(volume['spec']['storageClassName'], claim['spec']['storageClassName'])
        self.assertEqual('Retain', volume['spec']['persistentVolumeReclaimPolicy'])


class Terraform(testtools.TestCase):
    def test_names_are_declared_and_used(self):
        text = ''.join(path.read_text() for path in (CONTRIB / 'terraform/share').glob('*.tf'))
        self.assertEqual(set(re.findall(r'variable "(\w+)"', text)), set(re.findall(r'\bvar\.(\w+)', text)))
        block = re.search(r'(?s)locals \{(.*?)\n\}', text)[1]
        self.assertEqual(set(re.findall(r'(?m)^  (\w+) +=', block)), set(re.findall(r'\blocal\.(\w+)', text)))
        declared = {'.'.join(pair) for pair in re.findall(r'resource "(\w+)" "(\w+)"', text)}
        self.assertEqual(declared, set(re.findall(r'\b(openstack_\w+\.\w+)', text)))
        used = re.search(r'(?s)module "web" \{(.*?)\n\}', (CONTRIB / 'terraform/main.tf').read_text())[1]
        given = set(re.findall(r'(?m)^  (\w+) +=', used)) - {'source'}
        self.assertEqual(set(), given - set(re.findall(r'variable "(\w+)"', text)))


class CloudInit(testtools.TestCase):
    def test_unit_is_that_of_the_page(self):
        unit = CONTRIB / 'cloud-init/srv-share.mount'
        data = yaml.safe_load((CONTRIB / 'cloud-init/user-data.yaml').read_text())
        (file,) = data['write_files']
        self.assertEqual(
            (f'/etc/systemd/system/{unit.name}', unit.read_text()), (file['path'], file['content'])
        )
        self.assertIn(['systemctl', 'enable', '--now', unit.name], data['runcmd'])
        where = re.search(r'(?m)^Where=/(\S+)$', unit.read_text())[1]
        self.assertEqual(unit.stem, where.replace('/', '-'))

    def test_systemd_finds_no_mistake(self):
        program = shutil.which('systemd-analyze')
        if program is None:
            self.skipTest('systemd-analyze is not here')
        done = subprocess.run(
            [program, 'verify', CONTRIB / 'cloud-init/srv-share.mount'],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
        )
        self.assertEqual((0, ''), (done.returncode, done.stderr))


class Ansible(testtools.TestCase):
    """The role, without Ansible."""

    def setUp(self):
        super().setUp()
        self.tasks = [one for path in sorted((ROLE / 'tasks').glob('*')) for one in documents(path)[0]]
        self.defaults = documents(ROLE / 'defaults/main.yaml')[0]
        (self.inventory,) = documents(CONTRIB / 'ansible/inventory.yaml')
        self.groups = self.inventory['all']['children']

    def test_tasks_are_of_ansible_itself(self):
        handlers = documents(ROLE / 'handlers/main.yaml')[0]
        words = {
            'name',
            'when',
            'loop',
            'register',
            'notify',
            'no_log',
            'changed_when',
            'failed_when',
            'delegate_to',
        }
        for task in (*self.tasks, *handlers):
            (module,) = set(task) - words
            self.assertTrue(module.startswith('ansible.builtin.'), module)
            if module == 'ansible.builtin.import_tasks':
                self.assertTrue((ROLE / 'tasks' / task[module]).exists())
            if module == 'ansible.builtin.template':
                self.assertTrue((ROLE / 'templates' / task[module]['src']).exists())
        self.assertEqual(
            {one['name'] for one in handlers}, {task['notify'] for task in self.tasks if 'notify' in task}
        )

    def test_secrets_are_not_printed(self):
        secret = re.compile(r'_password|_htpasswd|key\.content|secrets\.key')
        tasks = [task for task in self.tasks if secret.search(str(task)) and 'fail_msg' not in str(task)]
        self.assertTrue(tasks)
        for task in tasks:
            self.assertTrue(task.get('no_log'), task['name'])

    def test_each_value_is_set_somewhere(self):
        text = ''.join(path.read_text() for path in ROLE.rglob('*') if path.is_file())
        used = set(re.findall(r'\b(manila_lite_\w+)', text))
        of_hosts = {
            name for group in self.groups.values() for host in group['hosts'].values() for name in host
        }
        made = {task.get('register') for task in self.tasks} | {
            name for task in self.tasks for name in task.get('ansible.builtin.set_fact', ())
        }
        self.assertTrue(used)
        self.assertEqual(set(), used - {*self.defaults, *of_hosts, *made, *self.groups})

    def test_configuration_has_known_options(self):
        for group, member in self.groups.items():
            (host,) = member['hosts'].values()
            self.assertEqual([], self.doubts(group, host), group)

    def doubts(self, group, host):
        """Return what is wrong with the configuration of a host."""
        template = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined).from_string(
            (ROLE / 'templates/manila_lite.conf.j2').read_text()
        )
        text = template.render(
            {
                **self.defaults,
                **host,
                'manila_lite_password': 'secret',
                'manila_lite_control': '192.0.2.10',
                'inventory_hostname_short': 'control',
                'group_names': [group],
            }
        )
        path = Path(self.useFixture(fixtures.TempDir()).path) / 'manila_lite.conf'
        path.write_text(text)
        conf = options.register(cfg.ConfigOpts())
        conf([f'--config-file={path}'], project='manila_lite')
        return [str(doubt) for doubt in settings.find_doubtful(conf)]
