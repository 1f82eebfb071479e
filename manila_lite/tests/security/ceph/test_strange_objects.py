# SPDX-License-Identifier: Apache-2.0
"""A tenant writes objects into the RADOS namespace of its share with the share's key, beside CephFS."""

import json
import os
import subprocess
import time

from manila_lite.drivers.cephfs.cluster import bindings
from manila_lite.drivers.cephfs.volumes import later
from manila_lite.tests import forks, waiting
from manila_lite.tests.functional.ceph import base

_NUMBER = 110


class StrangeObjects(base.CephTest):
    def name_of(self, share):
        return self.path(share).split('/')[3]

    def written(self, share):
        """Write objects with the key of a client of the share, one of them at a place of the client's choice. Return the
        namespace.
        """
        rule = self.grant(share, self.ident())
        (self.mount(share, rule) / 'f').write_text('x')
        namespace = f'fsvolumens_{self.name_of(share)}'
        conf = self.ceph.client_conf(rule['access_to'], rule['access_key'])
        mine = (
            'rados',
            '--conf',
            str(conf),
            '--id',
            rule['access_to'],
            '-p',
            'a.data',
            '--namespace',
            namespace,
        )
        subprocess.run(
            [*mine, '--object-locator', 'elsewhere', 'create', 'mine'], check=True, timeout=waiting.LIMIT
        )
        subprocess.run(
            [
                *mine,
                '--run-name',
                'mine',
                '--no-cleanup',
                '-b',
                '4096',
                '-O',
                '4096',
                '--max-objects',
                str(_NUMBER),
                'bench',
                '1',
                'write',
            ],
            check=True,
            timeout=waiting.LIMIT,
            capture_output=True,
        )
        self.assertGreater(len(self.left(namespace)), _NUMBER)
        return namespace

    def rados(self, namespace, *words, said=''):
        """Do something to objects of the namespace as an administrator. Return the output."""
        done = subprocess.run(
            ['rados', '--conf', str(self.ceph.admin_conf), '-p', 'a.data', '--namespace', namespace, *words],
            check=True,
            timeout=waiting.LIMIT,
            capture_output=True,
            text=True,
            input=said,
        )
        return done.stdout

    def left(self, namespace):
        """Return the names of the objects in the namespace."""
        return self.rados(namespace, 'ls').splitlines()

    def holding_on(self, share):
        """Return what a client of the share writes objects with, which has its tickets, and the namespace."""
        rule = self.grant(share, self.ident())
        namespace = f'fsvolumens_{self.name_of(share)}'
        conf = self.ceph.client_conf(rule['access_to'], rule['access_key'])
        client = bindings.load('rados').Rados(conffile=str(conf), name=f'client.{rule["access_to"]}')
        client.connect()
        self.addCleanup(client.shutdown)
        context = client.open_ioctx('a.data')
        context.set_namespace(namespace)
        context.write_full('before', b'x')
        return context, namespace

    def restarted_after_the_tickets(self):
        """Restart the service, whose notes say that all tickets have ended. Return what they said before."""
        self.lite.kill()
        found = {}
        for name in self.left(later.NOTES):  # the cluster has notes of other tests' backends, too
            noted = json.loads(self.rados(later.NOTES, 'get', name, '-'))
            self.rados(later.NOTES, 'put', name, '-', said=json.dumps(dict.fromkeys(noted, time.time() - 1)))
            found |= noted
        self.lite.start()
        return found

    def count(self):
        """Do the command that counts; return its exit status and output."""
        done = forks.run(
            'manila_lite.cmd.manage:main', f'--config-file={self.lite.config}', 'cephfs', 'objects'
        )
        return done.returncode, done.stdout

    def test_objects_are_counted_and_go_with_the_share(self):
        share = self.share()
        self.assertEqual((0, 'No namespace has objects beside CephFS.\n'), self.count())
        namespace = self.written(share)
        status, said = self.count()
        self.assertEqual(1, status)
        self.assertIn(f'alpha: RADOS namespace {namespace} has 1', said)
        self.remove(share)
        self.assertEqual([], self.left(namespace))

    def test_objects_stay_while_a_copy_uses_the_namespace_and_go_with_it(self):
        share = self.share()
        namespace = self.written(share)
        copy = self.share(snapshot_id=self.snapshot(share))
        place = self.mount(copy, self.grant(copy, self.ident()))
        self.remove(share)
        self.assertGreater(len(self.left(namespace)), _NUMBER)
        self.assertEqual('x', (place / 'f').read_text())
        self.remove(copy)
        self.assertEqual([], self.left(namespace))

    def test_objects_of_files_in_a_snapshot_that_the_operator_took_stay_while_it_does(self):
        share = self.share()
        path, namespace = self.path(share), f'fsvolumens_{self.name_of(share)}'
        place = self.mount(share, self.grant(share, self.ident()))
        (place / 'f').write_text('x')
        os.sync()
        operator = bindings.load('cephfs').LibCephFS(conffile=str(self.ceph.admin_conf), auth_id='admin')
        operator.mount(filesystem_name='a')
        self.addCleanup(operator.shutdown)
        for folder in '/volumes', '/':
            operator.mkdir(f'{folder}/.snap/friday', 0o755)
        self.remove(share)
        for folder, rest in (('/volumes', path.removeprefix('/volumes/')), ('/', path)):
            file = operator.open(f'{folder}/.snap/friday/{rest}/f', 'r', 0o644)
            self.assertEqual(b'x', operator.read(file, 0, 9))
            operator.close(file)
            operator.rmdir(f'{folder}/.snap/friday')
        self.restarted_after_the_tickets()
        waiting.until(lambda: not self.left(namespace), 'the objects go when no snapshot needs them')

    def test_objects_stay_while_a_snapshot_does(self):
        share = self.share()
        namespace = self.written(share)
        name, copy = self.name_of(share), 'copy-of-kept'
        self.ceph.ask('fs', 'subvolume', 'snapshot', 'create', 'a', name, 'kept')
        self.remove(share)
        self.assertGreater(len(self.left(namespace)), _NUMBER)
        self.ceph.ask('fs', 'subvolume', 'snapshot', 'clone', 'a', name, 'kept', copy)
        waiting.until(
            lambda: self.ceph.ask('fs', 'clone', 'status', 'a', copy)['status']['state'] == 'complete',
            'a copy',
        )
        self.ceph.ask('fs', 'subvolume', 'snapshot', 'rm', 'a', name, 'kept')
        self.ceph.ask('fs', 'subvolume', 'rm', 'a', copy)
        self.restarted_after_the_tickets()
        waiting.until(lambda: not self.left(namespace), 'they are removed')

    def test_what_is_written_with_old_tickets_after_the_deletion_goes_also_after_a_restart(self):
        share = self.share()
        context, namespace = self.holding_on(share)
        self.remove(share)
        context.write_full('after', b'x')
        noted = self.restarted_after_the_tickets()
        self.assertAlmostEqual(3 * 3600, noted[namespace] - time.time(), delta=300)
        waiting.until(lambda: not self.left(namespace), 'they are removed')
