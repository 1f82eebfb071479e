# SPDX-License-Identifier: Apache-2.0
"""Ensuring of shares: state is checked, and repaired only where it is wrong."""

from collections.abc import Sequence

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.cephfs.cluster.answers import Away, Refused
from manila_lite.drivers.cephfs.shares.share_service import ShareService
from manila_lite.drivers.cephfs.volumes.subvolumes import GIB, Subvolume
from manila_lite.drivers.file_servers.export_locations import moved

LOG = log.getLogger(__name__)


class Ensuring(ShareService):
    """The ensuring of one backend's shares."""

    def ensure(self, target: values.EnsureTarget) -> values.EnsureResult:
        """Bring back the limit and the rules of the share.

        :raises errors.Final: its data is missing.
        """
        share = target.share
        with self._locks.of(share.id):
            subvolume = self._subvolumes.require(share)
            self._protocol.evictions.follow(subvolume)  # who was shut out by an earlier process
            limits = self._limit_again(share, subvolume)
            results, of_rules = self._rules_again(target, subvolume)
        locations = tuple(self._protocol.export_locations(share, subvolume))
        return values.EnsureResult(
            locations, results, repaired=(*limits, *of_rules, *moved(share, locations))
        )

    def _rules_again(
        self, target: values.EnsureTarget, subvolume: Subvolume
    ) -> tuple[dict[str, values.RuleResult], list[str]]:
        """Return the result for every rule, and what was repaired."""
        share = target.share
        defects = self._protocol.defects(share, subvolume, target.rules)
        if not defects:
            return self._protocol.confirm(share, subvolume, target.rules), []
        rules = target.rules_now()
        results = self._protocol.apply(share, subvolume, rules)
        left = self._protocol.defects(share, self._subvolumes.require(share), rules)
        return results, [defect for defect in defects if defect not in left]

    def inspect(self, targets: Sequence[values.EnsureTarget]) -> dict[str, values.EnsureResult]:
        """Return the repairs that ``ensure`` would make, in the same words, and change nothing."""
        results = {}
        for target in targets:
            try:
                results[target.share.id] = values.EnsureResult(repaired=tuple(self._differences(target)))
            except errors.Final as bad:
                results[target.share.id] = values.EnsureResult(error=str(bad))
            except (Away, Refused) as bad:
                LOG.error('Share %s cannot be inspected: %s', target.share.id, bad)
        return results

    def _differences(self, target: values.EnsureTarget) -> list[str]:
        subvolume = self._subvolumes.require(target.share)
        limit = self._limit_difference(target.share, subvolume)
        return [
            *([limit] if limit else []),
            *self._protocol.defects(target.share, subvolume, target.rules),
            *moved(target.share, self._protocol.export_locations(target.share, subvolume)),
        ]

    def _limit_again(self, share: values.Share, subvolume: Subvolume) -> Sequence[str]:
        difference = self._limit_difference(share, subvolume)
        if not difference:
            return ()
        self._subvolumes.resize(subvolume.name, share.size)
        return (difference,)

    def _limit_difference(self, share: values.Share, subvolume: Subvolume) -> str | None:
        """Return in words how the limit differs. A size that was just set here, and may not be stored yet, is right."""
        if subvolume.quota in (share.size * GIB, (self._sizes.get(share.id) or 0) * GIB):
            return None
        was = 'no limit' if subvolume.quota is None else f'a limit of {subvolume.quota / GIB:g} GiB'
        return f'It had {was}; it is {share.size} GiB.'
