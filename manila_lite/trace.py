# SPDX-License-Identifier: Apache-2.0
"""Traces of osprofiler: one request, its statements, the operations it began and what their driver was asked for.

Off unless ``[profiler] enabled``, and then only for requests that are signed with one of its keys.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from osprofiler import initializer, profiler, web

#: Keys that are none: the second is osprofiler's default.
NO_KEYS = frozenset(('', 'SECRET_KEY'))
#: Where an operation's data keeps the trace that it belongs to.
DATA = '_trace'


def start(conf: Any, service: str) -> None:
    """What is traced in this process goes to ``[profiler] connection_string``. To be called after the fork."""
    if conf.profiler.enabled:
        initializer.init_from_conf(conf, None, 'manila_lite', service, conf.host)


def middleware(app: Callable, conf: Any) -> Callable:
    """Return ``app``, with a trace of each request that is signed for it if traces are wanted."""
    if not conf.profiler.enabled:
        return app
    return web.WsgiMiddleware(app, hmac_keys=conf.profiler.hmac_keys, enabled=True)


def carried() -> dict[str, Any]:
    """Return what an operation's data has to hold so that it belongs to the trace of this thread; empty without one."""
    found = profiler.get()
    return {DATA: {'base_id': found.get_base_id(), 'parent_id': found.get_id()}} if found else {}


@contextlib.contextmanager
def resumed(conf: Any, data: Any, name: str, **info: Any) -> Iterator[None]:
    """The thread's work is a part ``name`` of the trace that the data of an operation carries, if it does."""
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
    """Return ``target``; each call of a public method of it is a part ``name`` of the trace, if traces are wanted.

    Arguments are left out: they may hold keys of users.
    """
    if conf.profiler.enabled:
        for method in dir(type(target)):
            found = getattr(target, method)
            if not method.startswith('_') and callable(found) and hasattr(found, '__func__'):
                setattr(target, method, profiler.trace(name, hide_args=True)(found))
    return target
