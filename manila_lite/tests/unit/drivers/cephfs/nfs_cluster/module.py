# SPDX-License-Identifier: Apache-2.0
"""A cluster whose manager has the commands of its module ``nfs``, without gateways."""

import errno
import json

from manila_lite.drivers.cephfs.cluster.answers import Refused


class Cluster:
    """The exports, by the paths that clients mount, of one NFS cluster. ``shared``: all exports get one id."""

    def __init__(self, *, shared=False):
        self.exports, self.asked, self.shared = {}, [], shared
        self.modules = {'always_on_modules': ['status'], 'enabled_modules': ['nfs']}
        self.refusal = None

    def monitor(self, prefix, **arguments):
        return {'mgr module ls': self.modules, 'config get': 3600}[prefix]

    def manager(self, prefix, file=b'', /, *, cluster_id, **arguments):
        self.asked.append(prefix)
        if self.refusal:
            raise Refused(prefix, *self.refusal)
        return getattr(self, prefix.rpartition(' ')[2])(file, **arguments)

    def ls(self, file, detailed=False):
        return list(self.exports.values()) or None

    def info(self, file, pseudo_path):
        return self.exports.get(pseudo_path)

    def rm(self, file, pseudo_path):
        if pseudo_path not in self.exports:
            raise Refused('nfs export rm', errno.ENOENT, 'no such export')
        del self.exports[pseudo_path]

    def apply(self, file):
        told = json.loads(file)
        known = self.exports.get(told['pseudo'])
        user = 'nfs.c' if self.shared else f'nfs.c.{told["export_id"]}'
        if known and told['fsal'].get('user_id') != user:
            raise Refused('nfs export apply', errno.EINVAL, 'another id')
        told['fsal']['user_id'] = user
        self.exports[told['pseudo']] = told
