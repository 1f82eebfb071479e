# SPDX-License-Identifier: Apache-2.0
"""A private Ceph cluster below a scenario's directory: its data is in memory, and it ends with this process in any case."""

import contextlib
import tempfile

from manila_lite.drivers.cephfs.nfs import fsal
from manila_lite.tests.services.ceph import Ceph
from manila_lite.tests.services.daemon import program
from scenarios import settings
from scenarios.service import Trouble, begin

#: Those that are needed after the cluster itself, which looks for its own.
_PROGRAMS = ('ceph-fuse', 'fusermount3', 'ganesha.nfsd', 'dbus-daemon')

#: Length of the path of a scenario's directory. Sockets are below it, and a server without its socket answers no commands.
_LONGEST = 65


def vet(state):
    """Check that a cluster can be in the directory, and that this machine has all that its clients need."""
    for name in _PROGRAMS:
        program(name)
    if not fsal.plugin():
        raise Trouble('NFS clients need nfs-ganesha-ceph: run tools/setup-env --ceph as root')
    if len(str(state)) > _LONGEST:
        raise Trouble(
            f'{state} is too long for sockets of Ceph: name a directory of up to {_LONGEST} characters with --state'
        )


class PrivateCeph:
    """The cluster, with one file system, a data pool for each backend, and a metadata server that stands by."""

    STEP = 'A private Ceph cluster starts, with a metadata server that stands by'
    #: Seconds without a sign of life after which another metadata server takes over. By default Ceph waits for 15.
    GRACE = 5

    def __init__(self, state):
        self._state = state
        self._there = contextlib.ExitStack()
        self.ceph = None
        self._own = ()

    def start(self):
        """Start the cluster, and name its files for the share service and for whoever wants to look at it."""
        place = self._state / settings.CEPH
        place.mkdir(parents=True, exist_ok=True)
        tempfile.tempdir = str(place)  # files of the cluster and of its clients: they go with this folder
        self.ceph = Ceph((settings.FILESYSTEM,), standbys=1, grace=self.GRACE)
        begin('Ceph', self.ceph, self._there)
        self.ceph.add_pool(settings.FILESYSTEM, settings.NFS_POOL)
        self._own = self._users()
        for name, conf in (
            (settings.CEPH_CONF, self.ceph.conf),
            (settings.CEPH_ADMIN_CONF, self.ceph.admin_conf),
        ):
            (self._state / name).unlink(missing_ok=True)
            (self._state / name).symlink_to(conf)

    def told(self):
        """Return a line about it."""
        conf = self._state / settings.CEPH_ADMIN_CONF
        return f'one monitor, one manager, one OSD, data in memory; look at it: ceph --conf {conf} status'

    def stop(self):
        """End the cluster."""
        self._there.close()

    # Metadata servers -------------------------------------------------------------------------

    def active(self):
        """Return the name of the metadata server that serves the file system, or None while there is none."""
        [filesystem] = self.ceph.ask('fs', 'dump')['filesystems']
        servers = filesystem['mdsmap']['info'].values()
        return next((f'mds.{one["name"]}' for one in servers if one['state'] == 'up:active'), None)

    # What it holds ----------------------------------------------------------------------------

    def pools(self):
        """Return the bytes that are used and free in each pool, by its name."""
        return {
            pool['name']: (pool['stats']['stored'], pool['stats']['max_avail'])
            for pool in self.ceph.ask('df')['pools']
            if pool['name'].startswith(f'{settings.FILESYSTEM}.')
        }

    def subvolume(self, name):
        """Return the data pool of a subvolume, and the bytes in it."""
        about = self.ceph.ask('fs', 'subvolume', 'info', settings.FILESYSTEM, name)
        return about['data_pool'], int(about['bytes_used'])

    def left(self):
        """Return the names of all subvolumes, and of the users that the cluster did not have in the beginning."""
        return [
            *(one['name'] for one in self.ceph.ask('fs', 'subvolume', 'ls', settings.FILESYSTEM)),
            *(user for user in self._users() if user not in self._own),
        ]

    def _users(self):
        return [one['entity'] for one in self.ceph.ask('auth', 'ls')['auth_dump']]
