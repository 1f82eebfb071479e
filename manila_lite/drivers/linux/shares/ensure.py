# SPDX-License-Identifier: Apache-2.0
"""Ensuring of shares: state is checked, and repaired only where it is wrong, so that clients of sound shares notice
nothing.

A file server is asked once for the exports and clients of all its shares. Each share costs some system calls besides.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.file_servers.export_locations import moved
from manila_lite.drivers.file_servers.ganesha_exports import Seen
from manila_lite.drivers.linux.protocols.protocol_server import NOT_MOUNTED, ProtocolServer
from manila_lite.drivers.linux.shares.share_service import ShareService
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)


class Ensuring(ShareService):
    """The ensuring of one backend's shares."""

    def __init__(self, *services: Any):
        super().__init__(*services)
        self._pool_lock = threading.Lock()

    def ensure(self, targets: Sequence[values.EnsureTarget]) -> dict[str, values.EnsureResult]:
        """Bring back the mount, limit, export and rules of each share; a share whose data is missing gets an error.

        There is no result for a share with any other failure, which may not happen again.

        :raises CommandFailed: there is no result at all; with the first failure.
        """
        common = self._mount()
        results = {target.share.id: result for target in targets if (result := self._missing(target.share))}
        if results and self._mount():
            raise CommandFailed('the pool was unmounted meanwhile')  # so no share may be missing
        troubles: list[Exception] = []
        for group in _by_protocol_server(target for target in targets if target.share.id not in results):
            results |= self._group(group, common, troubles)
        if troubles and not results:
            raise troubles[0]
        return results

    def inspect(self, targets: Sequence[values.EnsureTarget]) -> dict[str, values.EnsureResult]:
        """Return the repairs that ``ensure`` would make, in the same words, and change nothing.

        There is no result for a share that cannot be inspected: the pool is not mounted, or a file server does not answer.
        """
        results: dict[str, values.EnsureResult] = {}
        for group in _by_protocol_server(targets):
            try:
                results |= self._inspect_group(group)
            except (errors.Final, errors.Again, CommandFailed, OSError) as bad:
                LOG.error('%s shares cannot be inspected: %s', len(group), bad)
        return results

    def _inspect_group(self, targets: Sequence[values.EnsureTarget]) -> dict[str, values.EnsureResult]:
        protocol_server = self._exports.protocol_server_of(targets[0].share)
        common = protocol_server.defects
        seen = (
            {} if common else protocol_server.server.exports.inspect([target.share.id for target in targets])
        )
        results = {}
        for target in targets:
            path = self._storage.pool.share(target.share.id)
            if path.exists():
                repairs = self._differences(target, protocol_server, path, seen.get(target.share.id))
                results[target.share.id] = values.EnsureResult(repaired=(*common, *repairs))
            elif self._storage.pool.root.is_mount() or not self._storage.pool.CAPABLE:
                results[target.share.id] = values.EnsureResult(error='Its data is not in the pool.')
        return results

    def _differences(
        self, target: values.EnsureTarget, protocol_server: ProtocolServer, path: Path, seen: Seen | None
    ) -> Iterable[str]:
        share = target.share
        if not protocol_server.mounts(share.id, path):
            yield NOT_MOUNTED
        if limit := self._storage.pool.limit_difference(share.id, share.size, self._sizes.get(share.id)):
            yield limit
        if seen is not None:
            blocks, _ = protocol_server.blocks(target.rules)
            yield from protocol_server.server.exports.defects(
                share.id,
                protocol_server.mount_point(share.id),
                [block.text for block in blocks],
                seen,
                share.mount_point_name,
            )
        yield from moved(share, self._exports.locations(share))

    def _mount(self) -> tuple[str, ...]:
        try:
            with self._pool_lock:
                return self._storage.pool.ensure()
        except (CommandFailed, OSError) as bad:
            raise CommandFailed(f'The pool cannot be used: {bad}') from bad

    def _missing(self, share: values.Share) -> values.EnsureResult | None:
        """Return an error result if the share is not in the pool."""
        try:
            self._storage.require(share)
        except errors.Final as bad:
            return values.EnsureResult(error=str(bad))
        return None

    def _group(
        self, targets: Sequence[values.EnsureTarget], common: tuple[str, ...], troubles: list[Exception]
    ) -> dict[str, values.EnsureResult]:
        """Ensure shares on the same protocol server."""
        try:
            protocol_server = self._exports.protocol_server_of(targets[0].share)
            idle = {
                target.share.id
                for target in targets
                if not self._is_mounted(protocol_server, target.share.id)
            }
            common += protocol_server.ensure()
            seen = protocol_server.server.exports.inspect([target.share.id for target in targets])
        except (errors.Final, errors.Again) as bad:  # servers were ensured before: this one could not be
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

    def _is_mounted(self, protocol_server: ProtocolServer, share_id: str) -> bool:
        """Say whether the share is mounted, before ``ProtocolServer.ensure`` may restart the server and mount its
        exports.
        """
        path = self._storage.share_path(share_id)
        return path is None or protocol_server.mounts(share_id, path)

    def _one(
        self,
        target: values.EnsureTarget,
        protocol_server: ProtocolServer,
        seen: Seen,
        common: tuple[str, ...],
    ) -> values.EnsureResult:
        share = target.share
        blocks, results = protocol_server.blocks(target.rules)
        # A size that was just set here, and may not be stored yet, is kept.
        limits = self._storage.pool.ensure_limit(share.id, share.size, self._sizes.get(share.id))
        limits += self._qos.limit_again(share)
        with self._storage.exclusive(share.id):
            path = self._storage.share_path(share.id)
            if path is None:
                raise CommandFailed('it was deleted meanwhile')
            refused: Mapping[int, str] = {}
            of_export: list[str] = []
            if not protocol_server.agrees(
                share.id, path, [block.text for block in blocks], seen, share.mount_point_name
            ):
                blocks, results = protocol_server.blocks(target.rules_now())
                refused, of_export = protocol_server.repair(
                    share.id, path, [block.text for block in blocks], seen, share.mount_point_name
                )
        results |= {
            blocks[position].rule_id: values.RuleResult(error=why) for position, why in refused.items()
        }
        locations = tuple(self._exports.locations(share))
        repairs = (
            *common,
            *limits,
            *(repair for repair in of_export if repair not in common),
            *moved(share, locations),
        )
        return values.EnsureResult(locations, results, repaired=repairs)


def _by_protocol_server(targets: Iterable[values.EnsureTarget]) -> Iterable[list[values.EnsureTarget]]:
    groups: dict[tuple[str, str], list[values.EnsureTarget]] = {}
    for target in targets:
        server_id = target.share.server.id if target.share.server else ''
        groups.setdefault((server_id, target.share.proto), []).append(target)
    return groups.values()
