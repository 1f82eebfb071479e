# SPDX-License-Identifier: Apache-2.0
"""Digests of rows whose deletion leaves no trace. A process that did not look meanwhile learns from them of deletions."""

import collections
import zlib
from collections.abc import Iterable

from manila_lite.api.events.audience import Audience
from manila_lite.api.events.records import POOL, SERVICE

_ALL = '*'


class Digests:
    """The digests of one census: see ``db.queries.events.take_census``."""

    def __init__(self, census: Iterable[tuple[str, str, str]]):
        self._of: collections.Counter[tuple[str, str]] = collections.Counter()
        for row in census:
            source, _, project_id = row
            digest = zlib.crc32('\0'.join(row).encode('utf-8', 'surrogateescape'))
            for key in ((source, ''),) if source in (POOL, SERVICE) else (('', project_id), (_ALL, '')):
                self._of[key] ^= digest  # in any order

    def of(self, audience: Audience) -> str:
        """Return the digest of an audience's view, in eight characters."""
        value = self._of[(_ALL, '') if audience.everybody else ('', audience.project_id)]
        for kind in (POOL, SERVICE):
            if audience.sees_kind(kind):
                value ^= self._of[(kind, '')]
        return f'{value:08x}'
