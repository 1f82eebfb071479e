# SPDX-License-Identifier: Apache-2.0
"""For drivers that look after shares one by one."""

import abc
import concurrent.futures
from collections.abc import Mapping, Sequence

from oslo_log import log

from manila_lite import errors, kinds

LOG = log.getLogger(__name__)


class EnsuresOneByOne(abc.ABC):
    """``ensure_shares`` in terms of ``ensure_share``. To be named before ``ShareDriver`` among the bases of a driver."""

    #: How many shares are worked on at a time.
    ENSURED_AT_ONCE = 4

    @abc.abstractmethod
    def ensure_share(self, target: kinds.EnsureTarget) -> kinds.EnsureResult:
        """The share is mounted, exported and has its rules, whatever was lost since.

        :raises errors.Final: it is broken; the message is for its owner. Whatever else is raised: it is asked for again.
        """

    def ensure_shares(self, targets: Sequence[kinds.EnsureTarget]) -> Mapping[str, kinds.EnsureResult]:
        """Each share is mounted, exported and has its rules; there is no result where that failed for no stated reason."""
        with concurrent.futures.ThreadPoolExecutor(self.ENSURED_AT_ONCE, 'ensure') as hands:
            results = list(hands.map(self._ensured, targets))
        return {target.share.id: result for target, result in zip(targets, results, strict=True) if result is not None}

    def _ensured(self, target: kinds.EnsureTarget) -> kinds.EnsureResult | None:
        try:
            return self.ensure_share(target)
        except errors.Final as bad:
            return kinds.EnsureResult(error=str(bad))
        except Exception:
            LOG.exception('Share %s could not be ensured', target.share.id)
            return None
