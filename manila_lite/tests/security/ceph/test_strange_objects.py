# SPDX-License-Identifier: Apache-2.0
"""A tenant writes objects into the RADOS namespace of its share with the share's key, beside CephFS."""

import subprocess

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
        mine = ('rados', '--conf', str(conf), '--id', rule['access_to'], '-p', 'a.data', '--namespace', namespace)
        subprocess.run([*mine, '--object-locator', 'elsewhere', 'create', 'mine'], check=True, timeout=waiting.LIMIT)
        subprocess.run([*mine, '--run-name', 'mine', '--no-cleanup', '-b', '4096', '-O', '4096', '--max-objects', str(_NUMBER),
                        'bench', '1', 'write'], check=True, timeout=waiting.LIMIT, capture_output=True)
        self.assertGreater(len(self.left(namespace)), _NUMBER)
        return namespace

    def left(self, namespace):
        """Return the names of the objects in the namespace."""
        done = subprocess.run(['rados', '--conf', str(self.ceph.admin_conf), '-p', 'a.data', '--namespace', namespace, 'ls'],
                              check=True, timeout=waiting.LIMIT, capture_output=True, text=True)
        return done.stdout.splitlines()

    def count(self):
        """Do the command that counts; return its exit status and output."""
        done = forks.run('manila_lite.cmd.manage:main', f'--config-file={self.lite.config}', 'cephfs', 'objects')
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

    def test_objects_stay_while_a_snapshot_does(self):
        share = self.share()
        namespace = self.written(share)
        name, copy = self.name_of(share), 'copy-of-kept'
        self.ceph.ask('fs', 'subvolume', 'snapshot', 'create', 'a', name, 'kept')
        self.remove(share)
        self.assertGreater(len(self.left(namespace)), _NUMBER)
        self.ceph.ask('fs', 'subvolume', 'snapshot', 'clone', 'a', name, 'kept', copy)
        waiting.until(lambda: self.ceph.ask('fs', 'clone', 'status', 'a', copy)['status']['state'] == 'complete', 'a copy')
        self.ceph.ask('fs', 'subvolume', 'snapshot', 'rm', 'a', name, 'kept')
        self.ceph.ask('fs', 'subvolume', 'rm', 'a', copy)
