# SPDX-License-Identifier: Apache-2.0
"""Traces of osprofiler: one request, its statements, the operations it began and the calls of their drivers.

Off unless ``[profiler] enabled``, and then only for requests that are signed with one of its keys.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from osprofiler import initializer, profiler, web

#: Keys that do not count as keys: the second is osprofiler's default.
NO_KEYS = frozenset(('', 'SECRET_KEY'))
#: The key of an operation's data under which its trace is stored.
DATA = '_trace'


def start(conf: Any, service: str) -> None:
    """Send traces of this process to ``[profiler] connection_string``. To be called after the fork."""
    if conf.profiler.enabled:
        initializer.init_from_conf(conf, None, 'manila_lite', service, conf.host)


def middleware(app: Callable[..., Any], conf: Any) -> Callable[..., Any]:
    """Wrap ``app`` so that signed requests are traced, if tracing is enabled."""
    if not conf.profiler.enabled:
        return app
    return web.WsgiMiddleware(app, hmac_keys=conf.profiler.hmac_keys, enabled=True)


def carried() -> dict[str, Any]:
    """Return the entry for an operation's data that links it to the trace of this thread; empty without a trace."""
    current = profiler.get()
    return {DATA: {'base_id': current.get_base_id(), 'parent_id': current.get_id()}} if current else {}


@contextlib.contextmanager
def resumed(conf: Any, data: Any, name: str, **info: Any) -> Iterator[None]:
    """Record the thread's work as part ``name`` of the trace in an operation's data, if there is one."""
    ids = data.get(DATA) if conf.profiler.enabled and isinstance(data, dict) else None
    if not ids:
        yield
        return
    profiler.init(conf.profiler.hmac_keys.partition(',')[0].strip(), ids['base_id'], ids['parent_id'])
    try:
        with profiler.Trace(name, info=info):
            yield
    finally:
        profiler.clean()


def calls(target: Any, name: str, conf: Any) -> Any:
    """Return ``target``, with each call of a public method traced as part ``name``, if tracing is enabled.

    Arguments are left out: they may hold keys of users.
    """
    if conf.profiler.enabled:
        for method in dir(type(target)):
            bound = getattr(target, method)
            if not method.startswith('_') and callable(bound) and hasattr(bound, '__func__'):
                setattr(target, method, profiler.trace(name, hide_args=True)(bound))
    return target
