# SPDX-License-Identifier: Apache-2.0
"""The check of a migration: scheduler and backend are asked whether it is possible, before anything changes."""

from collections.abc import Callable, Mapping
from typing import Any

from manila_lite import engine, errors
from manila_lite.context import RequestContext
from manila_lite.db.queries import operations as rows
from manila_lite.engine import questions
from manila_lite.operation_data.migrations import Answer, Reached


def objection(to: str, options: Mapping[str, bool], support: Answer) -> str | None:
    """Return the reason why the backend or pool ``to`` cannot migrate with these ``options``, or None."""
    if not support.compatible:
        return support.reason or f'{to} does not support it.'
    wants = [name for name in options if options[name] and not getattr(support, name)]
    return f'{to} does not support: {", ".join(wants)}.' if wants else None


def ask(ctx: RequestContext, begin: Callable[[Any], engine.Wake], host: str) -> Answer:
    """Begin a check operation with ``begin`` and return the backend's answer. Not for use in a transaction.

    :raises errors.Conflict: there was no answer for ``[api] migration_check_timeout`` seconds.
    :raises errors.Busy: too many requests wait for backends; the backend was not asked.
    """
    with ctx.waiting('backends'):
        row = questions.ask(ctx, begin, ctx.conf.api.migration_check_timeout)
    support = Reached.from_json(row.data).support if row and row.state != rows.OPEN else None
    if support is None:
        raise errors.Conflict(
            f'The backend {host} did not answer in time whether it can take part in the migration.',
            code='backend_silent',
        )
    return support
