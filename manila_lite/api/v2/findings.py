# SPDX-License-Identifier: Apache-2.0
"""Handlers for findings of the doctor: what will not end by itself, and the mending of it."""

from typing import Any

from oslo_log import log

from manila_lite import doctor, errors
from manila_lite.api.request import Request

LOG = log.getLogger(__name__)


def mendable(row: Any, req: Request) -> bool:
    """Read whether the service itself can mend it."""
    return row.mend is not None


def age(row: Any, req: Request) -> int | None:
    """Read the age in whole seconds."""
    return _whole(row.age)


def lease_left(row: Any, req: Request) -> int | None:
    """Read the seconds for which a worker still has the operation."""
    return _whole(row.lease_left)


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds)


def index(req: Request) -> list[doctor.Finding]:
    """List resources and operations in no terminal state, what is wrong first."""
    found = doctor.look(req.ctx.services, req.query.get('older_than') or 0)
    wanted = req.query.get('wrong')
    shown = sorted((one for one in found if wanted in (None, one.wrong)), key=lambda one: not one.wrong)
    return shown[req.page.offset :][: req.page.limit]


def mend(req: Request) -> str:
    """Mend a finding, beside running work. Return a description of what was done."""
    what, which, state = (req.body[name] for name in ('what', 'id', 'state'))
    gone = errors.NotFound(
        f'{what} {which} with the state {state} is not among the findings.', code='finding_not_found'
    )
    found = [
        one for one in doctor.look(req.ctx.services) if (one.what, one.id, one.state) == (what, which, state)
    ]
    if not found:
        raise gone
    one = next((one for one in found if one.mend), found[0])
    if one.mend is None:
        raise errors.Conflict(
            f'{what} {which} cannot be mended by this call: {one.why}.', code='finding_not_mendable'
        )
    said = doctor.mend(req.ctx.services, one)
    if said is None:
        raise gone
    LOG.info('%s: %s %s was mended for user %s: %s', which, what, state, req.ctx.user_id, said)
    return said
