# SPDX-License-Identifier: Apache-2.0
"""Ensuring of shares: state is checked, and repaired only where it is wrong, so that clients of sound shares notice
nothing.

A file server is asked once for the exports and clients of all its shares. Each share costs some system calls besides.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.linux.pool.base import Pool
from manila_lite.drivers.linux.protocols.ganesha_exports import Seen
from manila_lite.drivers.linux.protocols.protocol_server import NOT_MOUNTED, ProtocolServer
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)


class Ensuring:
    """The ensuring of one backend's shares. Safe for threads."""

    def __init__(self, pool: Pool, *, need: Callable[[values.Share], None],
                 protocol_server_of: Callable[[values.Share], ProtocolServer],
                 source: Callable[[str], Path | None], alone: Callable[[str], AbstractContextManager[None]],
                 locations: Callable[[values.Share], list[values.ExportLocation]],
                 limit: Callable[[values.Share], tuple[str, ...]]):
        self._pool = pool
        self._need = need
        self._protocol_server_of = protocol_server_of
        self._source = source
        self._alone = alone
        self._locations = locations
        self._limit_traffic = limit
        self._sizes: dict[str, int] = {}
        self._life = threading.Lock()

    def sized(self, ident: str, size: int) -> None:
        """Remember a size that was just set: a request to ensure the share may still carry the old one."""
        self._sizes[ident] = size

    def forget(self, ident: str) -> None:
        """Forget the size of a deleted share."""
        self._sizes.pop(ident, None)

    def shares(self, targets: Sequence[values.EnsureTarget]) -> dict[str, values.EnsureResult]:
        """Bring back the mount, limit, export and rules of each share; a share whose data is missing gets an error.

        There is no result for a share with any other failure, which may not happen again.

        :raises CommandFailed: there is no result at all; with the first failure.
        """
        common = self._mount()
        results = {target.share.id: found for target in targets if (found := self._lost(target.share))}
        if results and self._mount():
            raise CommandFailed('the pool was unmounted meanwhile')     # so no share may be missing
        troubles: list[Exception] = []
        for group in _by_protocol_server(target for target in targets if target.share.id not in results):
            results |= self._group(group, common, troubles)
        if troubles and not results:
            raise troubles[0]
        return results

    def _mount(self) -> tuple[str, ...]:
        try:
            with self._life:
                return self._pool.ensure()
        except (CommandFailed, OSError) as bad:
            raise CommandFailed(f'The pool cannot be used: {bad}') from bad

    def _lost(self, share: values.Share) -> values.EnsureResult | None:
        """Return an error result if the share is not in the pool."""
        try:
            self._need(share)
        except errors.Final as bad:
            return values.EnsureResult(error=str(bad))
        return None

    def _group(self, targets: Sequence[values.EnsureTarget], common: tuple[str, ...],
               troubles: list[Exception]) -> dict[str, values.EnsureResult]:
        """Ensure shares on the same file server."""
        try:
            protocol_server = self._protocol_server_of(targets[0].share)
            idle = {target.share.id for target in targets if not self._is_mounted(protocol_server, target.share.id)}
            common += protocol_server.ensure()
            seen = protocol_server.server.exports.look([target.share.id for target in targets])
        except errors.Final as bad:
            return {target.share.id: values.EnsureResult(error=str(bad)) for target in targets}
        except (CommandFailed, OSError) as bad:
            LOG.error('%s shares are not served: %s', len(targets), bad)
            troubles.append(bad)
            return {}
        results = {}
        for target in targets:
            try:
                first = (*common, NOT_MOUNTED) if target.share.id in idle else common
                results[target.share.id] = self._one(target, protocol_server, seen[target.share.id], first)
            except errors.Final as bad:
                results[target.share.id] = values.EnsureResult(error=str(bad))
            except (CommandFailed, OSError) as bad:
                LOG.error('Share %s is not served: %s', target.share.id, bad)
                troubles.append(bad)
        return results

    def _is_mounted(self, protocol_server: ProtocolServer, ident: str) -> bool:
        """Say whether the share is mounted, before ``outlet.ensure`` may restart the server and mount its exports."""
        source = self._source(ident)
        return source is None or protocol_server.mounts(ident, source)

    def _one(self, target: values.EnsureTarget, protocol_server: ProtocolServer, seen: Seen,
             common: tuple[str, ...]) -> values.EnsureResult:
        share = target.share
        blocks, results = protocol_server.blocks(target.rules)
        found = (*self._limit(share), *self._limit_traffic(share))
        with self._alone(share.id):
            source = self._source(share.id)
            if source is None:
                raise CommandFailed('it was deleted meanwhile')
            refused, mended = protocol_server.mend(share.id, source, [block.text for block in blocks], seen,
                                                   share.mount_point_name)
        results |= {blocks[position].rule_id: values.RuleResult(error=why) for position, why in refused.items()}
        places = tuple(self._locations(share))
        words = (*common, *found, *(word for word in mended if word not in common), *_moved(share, places))
        return values.EnsureResult(places, results, repaired=words)

    def _limit(self, share: values.Share) -> tuple[str, ...]:
        """Enforce the share's size. A size that was just set here, and may not be stored yet, is kept."""
        return self._pool.ensure_limit(share.id, share.size, self._sizes.get(share.id))


def _by_protocol_server(targets: Iterable[values.EnsureTarget]) -> Iterable[list[values.EnsureTarget]]:
    groups: dict[tuple[str, str], list[values.EnsureTarget]] = {}
    for target in targets:
        place = target.share.server.id if target.share.server else ''
        groups.setdefault((place, target.share.proto), []).append(target)
    return groups.values()


def _moved(share: values.Share, places: Sequence[values.ExportLocation]) -> list[str]:
    """Return in words that the share's paths have changed; nothing if the caller gave no known paths."""
    known, now = ([place.path for place in found] for found in (share.export_locations, places))
    return [f'It was known as {", ".join(known)}; it is {", ".join(now)}.'] if known and sorted(known) != sorted(now) else []
