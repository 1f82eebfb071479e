# SPDX-License-Identifier: Apache-2.0
"""``manila-manage cephfs``: repairs of the clusters of CephFS backends, from a host with the configuration of the backends."""

from collections.abc import Iterator, Sequence

from manila_lite import errors
from manila_lite.cmd.manage.command import GOOD, WRONG, Call, Command, argument
from manila_lite.conf import backend as backend_conf
from manila_lite.drivers.cephfs import repairs
from manila_lite.drivers.cephfs.options import OPTIONS

_DRIVER = 'cephfs'


def trash(call: Call) -> int:
    """Move directories up that are too deep for managers of the cluster, in all that managers are deleting.

    Managers of Ceph die of some hundred levels of directories, one after another. No manager needs to be active for this
    command, and share managers may run. It can be repeated.
    """
    for name in _backends(call):
        print(
            f'{name}: {repairs.flatten_trash(call.conf[name])} directories were too deep, and were moved up'
        )
    return GOOD


def objects(call: Call) -> int:
    """Count the objects in the RADOS namespaces of shares, and name those with more than CephFS has in them.

    Clients write such objects with the key of their share, beside its size. Exit status: 1 there are some.
    """
    problems = [
        f'{name}: {problem}'
        for name in _backends(call)
        for problem in repairs.strange_objects(call.conf[name])
    ]
    print('\n'.join(problems or ['No namespace has objects beside CephFS.']))
    return WRONG if problems else GOOD


def _backends(call: Call) -> Iterator[str]:
    """Yield the backends that are meant, with their options read."""
    for name in call.args.backends or call.conf.enabled_share_backends:
        if name not in call.conf.enabled_share_backends:
            raise errors.Invalid(f'backend: {name} is not in enabled_share_backends.')
        backend_conf.register_backend(call.conf, name)
        if call.conf[name].driver == _DRIVER:
            call.conf.register_opts(OPTIONS, group=name)
            yield name


_ARGUMENTS = (
    argument('backends', nargs='*', metavar='BACKEND', help='default: each backend with this driver'),
)
COMMANDS: Sequence[Command] = (
    Command('cephfs', 'trash', trash, _ARGUMENTS, logged=False),
    Command('cephfs', 'objects', objects, _ARGUMENTS, logged=False),
)
