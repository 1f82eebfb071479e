# SPDX-License-Identifier: Apache-2.0
"""Checks of the shares that a user names, with the user's rights at the share service."""

import concurrent.futures
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from manila_lite import errors
from manila_lite.context import RequestContext
from manila_lite.siblings.dataproc.validation import InvalidReference
from manila_lite.siblings.shares import VisibleShare, check_may_give_access, of_process, preferred

_AT_ONCE = 8
_MISSING = 'share_service_missing'


def check(
    ctx: RequestContext,
    who: Mapping[str, str],
    named: Iterable[Mapping[str, Any]],
    protocols: Collection[str],
    *,
    exports: bool = False,
) -> dict[str, dict[str, str]]:
    """Check that every named share is available, that its protocol can be mounted, and that the user may give access to it.

    Returns the protocol of each share, and with ``exports`` its export location: later no request has the user's rights.

    :raises InvalidReference: a share fails the check, or the cloud has no share service.
    :raises errors.Unavailable: the share service does not answer.
    """
    share_ids = sorted({share['id'] for share in named})
    if not share_ids:
        return {}
    with concurrent.futures.ThreadPoolExecutor(min(_AT_ONCE, len(share_ids))) as pool:
        checked = pool.map(lambda share_id: _check_one(ctx, who, share_id, protocols, exports), share_ids)
        return dict(zip(share_ids, checked, strict=True))


def _check_one(
    ctx: RequestContext, who: Mapping[str, str], share_id: str, protocols: Collection[str], exports: bool
) -> dict[str, str]:
    shares = of_process(ctx.services)
    try:
        share = shares.share(who, share_id)
        _must_be_theirs(ctx, who, share)
        _fits(share, protocols)
        facts = {'protocol': share.protocol.upper()}
        if exports:
            facts['export'] = preferred(shares.exports(who, share_id)) or ''
            if not facts['export']:
                raise InvalidReference(f'shares: share {share_id} has no export location.')
        return facts
    except (errors.NotFound, errors.Forbidden):
        raise InvalidReference(f'shares: share {share_id} could not be found.') from None
    except errors.Unavailable as bad:
        if bad.code == _MISSING:
            raise InvalidReference(
                f'shares: there is no share service (shared-file-system) in the catalog: {bad}'
            ) from None
        raise


def _must_be_theirs(ctx: RequestContext, who: Mapping[str, str], share: VisibleShare) -> None:
    try:
        check_may_give_access(of_process(ctx.services), ctx, who, share)
    except errors.Forbidden as refused:
        raise InvalidReference(f'shares: {refused}') from None


def _fits(share: VisibleShare, protocols: Collection[str]) -> None:
    if share.protocol.upper() not in protocols:
        raise InvalidReference(
            f'shares: share {share.id} is of protocol {share.protocol}; only {", ".join(sorted(protocols))} '
            'can be mounted on nodes.'
        )
    if share.status != 'available':
        raise InvalidReference(f'shares: share {share.id} is {share.status}; it must be available.')
