# SPDX-License-Identifier: Apache-2.0
"""A guest that uses a share: attached by the compute service, found in the metadata, mounted, written to, detached."""

import json

import yaml

from manila_lite.tests.nfs_client import call as nfs
from manila_lite.tests.services import virtiofs_guest
from scenarios import settings
from scenarios.beside import Beside
from scenarios.clients import must, split
from scenarios.service import Trouble, write_private
from scenarios.settings import V6

_NAME, _TAG = 'vm', 'data'
_FILE = 'hello.txt'
#: Script of the guest: its init runs a script that it finds in a share.
_SCRIPT = f'grep virtiofs /proc/mounts; cat /mnt/{_TAG}/from-outside; echo hello from the guest > /mnt/{_TAG}/{_FILE}'


class Vm:
    """The scenario, with its steps in their order."""

    def __init__(self, demo):
        self.demo = demo
        if lacks := virtiofs_guest.missing():
            raise Trouble(f'a guest needs {lacks}')
        self.compute = Beside(demo, 'mlite-compute', settings.COMPUTE, 8774)
        self.share = self.remote = self.server = ''

    def through(self):
        """Run all steps but the deletion. Return a command to try by hand."""
        self._start()
        self._attach()
        self._boot()
        self._files()
        return f'openstack server share list {_NAME}'

    def _start(self):
        demo = self.demo
        with demo.step('A share'):
            demo.share_type()
            self.share = demo.share(name='demo')
            (path,) = demo.paths(self.share)[:1]
            demo.say(f'{self.share}, exported as {path}')
            self.remote = split(path)[1]
        with demo.step('The compute service starts beside it: API and agent in one process, guests by QEMU'):
            images = demo.state / 'images'
            images.mkdir(exist_ok=True)
            guest = {
                'name': _NAME,
                'kernel': 'kernel',
                'initrd': 'initrd',
                'cmdline': virtiofs_guest.make(images),
                'memory': 160,
            }
            self.compute.start()
            self._tell_clients()
            demo.say(
                f'API at {self.compute.url}/v2.1; it reaches the share service as user {settings.SERVICE}'
            )
            made = self.compute.ask('POST', '/v2.1/servers', {'server': guest})
            self.server = f'/v2.1/servers/{made["id"]}'
            self._wait_until('ACTIVE')
            self._stop()

    def _stop(self):
        self.compute.ask('POST', f'{self.server}/action', {'os-stop': None})
        self._wait_until('SHUTOFF')

    def _tell_clients(self):
        """Rewrite clouds.yaml without a default version: commands that attach shares choose versions themselves."""
        path = self.demo.state / 'clouds.yaml'
        written = yaml.safe_load(path.read_text())
        for cloud in written['clouds'].values():
            del cloud['shared_file_system_default_microversion']
            cloud |= {'compute_endpoint_override': f'{self.compute.url}/v2.1', 'compute_api_version': '2.97'}
        write_private(path, yaml.safe_dump(written, sort_keys=False))

    def _wait_until(self, status):
        def is_so():
            seen = self.compute.get(self.server)
            if seen['status'] == 'ERROR':
                raise Trouble(f'server {_NAME}: {seen["fault"]["message"]}')
            return seen['status'] == status

        self.demo.wait(f'server {_NAME} is {status}', is_so)

    def _attach(self):
        demo = self.demo
        with demo.step('The share is attached to the server, under a tag'):
            demo.show('server', 'add', 'share', _NAME, 'demo', '--tag', _TAG)
            path = f'{self.server}/shares/{self.share}'
            demo.wait('the share is attached', lambda: self.compute.get(path)['status'] == 'inactive')
            for row in demo.show('server', 'share', 'list', _NAME):
                demo.say(f'{row["Tag"]}: {row["Status"]}; it is used when the server starts')
            for rule in self._rules():
                demo.say(
                    f'access rule for {rule["access_to"]}, the host: {rule["state"]}, locked so that nobody denies it'
                )

    def _rules(self):
        """Return the access rules as the administrator sees them: the address of the host is hidden from the user."""
        return self.demo.get(f'/share-access-rules?share_id={self.share}', user=settings.ADMIN)

    def _boot(self):
        demo = self.demo
        with demo.step('The guest boots'):
            self.compute.ask('POST', f'{self.server}/action', {'os-start': None})
            self._wait_until('ACTIVE')
            demo.wait('the guest is up', lambda: 'READY' in self._console())
            lines = self._console().splitlines()
            metadata = json.loads(
                next(line for line in lines if line.startswith('META ')).removeprefix('META ')
            )
            demo.say(
                'in the guest: curl http://169.254.169.254/openstack/latest/meta_data.json | jq .devices'
            )
            demo.say(json.dumps(metadata['devices']))
            if f'MOUNTED {_TAG}' not in lines:
                raise Trouble(f'the guest did not mount {_TAG}: {lines[-20:]}')
            demo.say(f'in the guest: mount -t virtiofs {_TAG} /mnt/{_TAG}')

    def _console(self):
        return self.compute.get(f'{self.server}/action', 'POST', {'os-getConsoleOutput': {}})

    def _files(self):
        demo = self.demo
        with demo.step('Files in the share: of the guest, and of an NFS client elsewhere'):
            demo.grant(self.share, V6)
            self._nfs('write', 'from-outside', 'hello from an NFS client')
            self._nfs('write', 'draft', _SCRIPT)
            self._nfs('rename', 'draft', f'do-{_NAME}')
            said = f'said-{_NAME}'
            demo.wait('the guest did it', lambda: said in self._nfs('list').split())
            for line in self._nfs('read', said).splitlines():
                demo.say(f'the guest sees: {line}')
            demo.say(f'{V6} reads {_FILE} through NFS: {self._nfs("read", _FILE).strip()!r}')

    def _nfs(self, *words):
        return must(nfs(V6, self.remote, *words))

    def delete(self):
        """Detach the share, delete the server, and then the share."""
        demo = self.demo
        with demo.step('Taken back: the guest stops, and the share is detached'):
            self._stop()
            demo.run('server', 'remove', 'share', _NAME, 'demo')
            path = f'{self.server}/shares/{self.share}'
            demo.wait('the share is detached', lambda: self.compute.call('GET', path)[0] == 404)
            demo.say(f'access rules left: {", ".join(rule["access_to"] for rule in self._rules())}')
            self.compute.delete(self.server)
            demo.delete(f'/shares/{self.share}')
