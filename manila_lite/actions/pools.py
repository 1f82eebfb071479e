# SPDX-License-Identifier: Apache-2.0
"""The pools that backends report, as an administrator lists them."""

from collections.abc import Mapping
from typing import Any

import re2

from manila_lite import errors, extra_specs
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import pool_reports, services, share_types
from manila_lite.values import pools

#: Memory for the steps of one expression. A longer one is refused.
_PATTERN_BYTES = 1 << 20


def list_pools(ctx: RequestContext, wanted: Mapping[str, Any]) -> list[Any]:
    """Return the pools of backends that are up, by host.

    ``wanted``: any of host, backend and pool (regular expressions that match from the start), share_type (name or
    id: only pools that its extra specs accept), capabilities (pairs that a pool must report).

    :raises errors.Invalid: an expression cannot be read, or there is no such share type.
    """
    patterns = {
        key: _pattern(key, wanted[key]) for key in ('host', 'backend', 'pool') if wanted.get(key) is not None
    }
    asked = wanted.get('capabilities') or {}
    with ctx.db.reader() as conn:
        specs = _specs_of_type(conn, ctx, wanted['share_type']) if wanted.get('share_type') else {}
        rows = pool_reports.list_pools(conn)
    asked = {**extra_specs.capability_specs(specs), **asked}
    return [
        row
        for row in rows
        if services.is_up(row, ctx.conf.service_down_time)
        and all(pattern.match(parts_of_host(row.host)[key]) for key, pattern in patterns.items())
        and extra_specs.is_offered(specs, row.zone)
        and not any(extra_specs.unmet_capabilities(asked, pools.capabilities(row)))
    ]


def parts_of_host(host: str) -> dict[str, str]:
    """Return the parts of ``host@backend#pool``."""
    backend_host, _, pool = host.partition('#')
    machine, _, backend = backend_host.partition('@')
    return {'host': machine, 'backend': backend, 'pool': pool}


def _pattern(key: str, text: str) -> Any:
    """Return a regular expression of RE2, whose time is linear in the name. Python's own hold the interpreter for hours."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_BYTES
    try:
        return re2.compile(text, options)
    except re2.error as bad:
        why = bad.args[0].decode(errors='replace') if isinstance(bad.args[0], bytes) else bad
        raise errors.Invalid(f'{key}: {text!r} is not a regular expression: {why}.') from None


def _specs_of_type(conn: Connection, ctx: RequestContext, name_or_id: str) -> Mapping[str, str]:
    with errors.in_request('share_type'):
        return share_types.find(conn, ctx, name_or_id).extra_specs
