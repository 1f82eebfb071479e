# SPDX-License-Identifier: Apache-2.0
"""Traffic limits of one share server: a token bucket at both ends of each of its interfaces, one for each direction.

The kernel cannot tell the shares of an NFS server apart, so a share's limit needs a share server of its own.
"""

import json
from collections.abc import Iterable

from manila_lite import errors, values
from manila_lite.host.commands import run

#: QoS specs: bytes per second, each way, through each address of the server; absolute, and for each GiB of the share.
#: The lower one applies.
LIMIT, PER_GIB = 'maxbps', 'maxbpspergib'
#: The lowest limit with which NFS works, and the burst, which lets whole packets through a slow limit.
_LEAST, _BURST = 64 << 10, 128 << 10
_PART_OF_A_SECOND = 50


def limit(share: values.Share) -> int | None:
    """Return the share's limit in bytes per second, each way, or None.

    :raises errors.Final: the share has a QoS spec that this backend does not keep.
    """
    if unknown := sorted(set(share.qos) - {LIMIT, PER_GIB}):
        raise errors.Final(f'This backend does not support QoS spec {unknown[0]}, but {LIMIT} and {PER_GIB}.')
    limits = []
    for name, times in ((LIMIT, 1), (PER_GIB, share.size)):
        if name in share.qos:
            text = share.qos[name]
            if not (text.isascii() and text.isdigit() and int(text) * times >= _LEAST):
                raise errors.Final(
                    f'The QoS spec {name}={text} must be a number of bytes per second, at least {_LEAST}.'
                )
            limits.append(int(text) * times)
    return min(limits, default=None)


def shape(ends: Iterable[tuple[str, str]], wanted: int | None) -> bool:
    """Limit the bytes per second that each of these interfaces (namespace, name) sends. Returns whether anything
    changed.

    ``wanted`` is the limit; None removes it.

    :raises CommandFailed: the kernel cannot, or an interface is gone.
    """
    changed = False
    for netns, name in ends:
        if _now(netns, name) != wanted:
            changed = True
            _set(netns, name, wanted)
    return changed


def _now(netns: str, name: str) -> int | None:
    for qdisc in json.loads(run('tc', '-n', netns, '-json', 'qdisc', 'show', 'dev', name, 'root') or '[]'):
        if qdisc.get('kind') == 'tbf':
            return int(qdisc['options']['rate'])
    return None


def _set(netns: str, name: str, wanted: int | None) -> None:
    place = ('dev', name, 'root')
    if wanted is None:
        run('tc', '-n', netns, 'qdisc', 'delete', *place)
    else:
        burst = max(wanted // _PART_OF_A_SECOND, _BURST)
        run(
            'tc',
            '-n',
            netns,
            'qdisc',
            'replace',
            *place,
            'tbf',
            'rate',
            f'{wanted}bps',
            'burst',
            f'{burst}b',
            'latency',
            '400ms',
        )
