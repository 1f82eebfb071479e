# SPDX-License-Identifier: Apache-2.0
"""A base class for drivers that ensure shares one by one."""

import abc
import concurrent.futures
from collections.abc import Mapping, Sequence

from oslo_log import log

from manila_lite import errors, values

LOG = log.getLogger(__name__)


class EnsuresOneByOne(abc.ABC):
    """``ensure_shares`` in terms of ``ensure_share``. Must come before ``ShareDriver`` among the bases of a driver."""

    #: Number of shares that are ensured at a time.
    ENSURED_AT_ONCE = 4

    @abc.abstractmethod
    def ensure_share(self, target: values.EnsureTarget) -> values.EnsureResult:
        """Bring back the mount, the export and the rules of the share, if they were lost.

        :raises errors.Final: the share is broken; the message is for its owner. After any other exception the call is
            repeated.
        """

    def ensure_shares(self, targets: Sequence[values.EnsureTarget]) -> Mapping[str, values.EnsureResult]:
        """Ensure each share; a share whose call failed without ``errors.Final`` gets no result."""
        with concurrent.futures.ThreadPoolExecutor(self.ENSURED_AT_ONCE, 'ensure') as workers:
            results = list(workers.map(self._ensured, targets))
        return {
            target.share.id: result
            for target, result in zip(targets, results, strict=True)
            if result is not None
        }

    def _ensured(self, target: values.EnsureTarget) -> values.EnsureResult | None:
        try:
            return self.ensure_share(target)
        except errors.Final as bad:
            return values.EnsureResult(error=str(bad))
        except Exception:
            LOG.exception('Share %s could not be ensured', target.share.id)
            return None
