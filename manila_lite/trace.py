# SPDX-License-Identifier: Apache-2.0
"""Traces of osprofiler: one request, its statements, the operations it began and the calls of their drivers.

Off unless ``[profiler] enabled``, and then only for requests that are signed with one of its keys. osprofiler is imported only
where it is on: with requests and WebOb it takes 6 MiB, and a tenth of the start of each process.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from oslo_config import cfg


class _Enabled(cfg.BoolOpt):
    """The option that every process reads. It counts as equal to osprofiler's, which is registered when that is imported."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, cfg.BoolOpt) and other.dest == self.dest

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = cfg.BoolOpt.__hash__


#: All other options of osprofiler are registered where it is true.
ENABLED = _Enabled('enabled', default=False, deprecated_name='profiler_enabled')
#: Keys that do not count as keys: the second is osprofiler's default.
NO_KEYS = frozenset(('', 'SECRET_KEY'))
#: The key of an operation's data under which its trace is stored.
DATA = '_trace'


def register(conf: Any) -> None:
    """Register all options of osprofiler."""
    from osprofiler import opts

    for group, options in opts.list_opts():
        for option in options:
            # It may hold a password, and osprofiler does not mark it as secret.
            option.secret = option.secret or option.dest == 'connection_string'
        conf.register_opts(options, group=group)


def is_on(conf: Any) -> bool:
    """Say whether tracing is enabled. If it is, all its options are registered."""
    if not conf.profiler.enabled:
        return False
    if 'hmac_keys' not in conf.profiler:
        register(conf)
    return True


def start(conf: Any, service: str) -> None:
    """Send traces of this process to ``[profiler] connection_string``. To be called after the fork."""
    if is_on(conf):
        from osprofiler import initializer

        initializer.init_from_conf(conf, None, 'manila_lite', service, conf.host)


def middleware(app: Callable[..., Any], conf: Any) -> Callable[..., Any]:
    """Wrap ``app`` so that signed requests are traced, if tracing is enabled."""
    if not is_on(conf):
        return app
    from osprofiler import web

    return web.WsgiMiddleware(app, hmac_keys=conf.profiler.hmac_keys, enabled=True)


def carried(conf: Any) -> dict[str, Any]:
    """Return the entry for an operation's data that links it to the trace of this thread; empty without a trace."""
    if not is_on(conf):
        return {}
    from osprofiler import profiler

    current = profiler.get()
    return {DATA: {'base_id': current.get_base_id(), 'parent_id': current.get_id()}} if current else {}


@contextlib.contextmanager
def resumed(conf: Any, data: Any, name: str, **info: Any) -> Iterator[None]:
    """Record the thread's work as part ``name`` of the trace in an operation's data, if there is one."""
    ids = data.get(DATA) if is_on(conf) and isinstance(data, dict) else None
    if not ids:
        yield
        return
    from osprofiler import profiler

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
    if is_on(conf):
        from osprofiler import profiler

        for method in dir(type(target)):
            bound = getattr(target, method)
            if not method.startswith('_') and callable(bound) and hasattr(bound, '__func__'):
                setattr(target, method, profiler.trace(name, hide_args=True)(bound))
    return target
