# SPDX-License-Identifier: Apache-2.0
"""The section of one backend, read again from the configuration files while all other values stay as they are.

Options that declare ``mutable`` are read at each use, by drivers too, so their new values count at once. All others need a
restart of the backend.
"""

import dataclasses
import logging
import threading
from pathlib import Path
from typing import Any

from oslo_config import cfg

import manila_lite.conf
from manila_lite import errors
from manila_lite.conf import backend as backend_conf
from manila_lite.drivers import load

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Changes:
    """Names of options that differ from the values in use: those applied now, and those that need a restart."""

    applied: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Say whether anything changed."""
        return bool(self.applied or self.restart)


class Section:
    """The section of a backend that runs. ``host`` is ``host@backend``, ``driver`` the name of its driver."""

    def __init__(self, conf: cfg.ConfigOpts, name: str, host: str, state_dir: Path):
        self._conf = conf
        self._where = (name, host, state_dir)
        self._name = name
        self._lock = threading.Lock()
        self._ours: set[str] = set()  # options with a value of a later reading than the rest of the process
        try:
            self._known = _values(conf, *self._where)
        except errors.BadConfig:
            self._known = {}  # the files broke after the start; compare with the values in use

    def reread(self, *, apply: bool = True) -> Changes:
        """Read the section again, and ``apply`` the changes that need no restart. Without it, only name these.

        :raises errors.BadConfig: the files cannot be read, or the backend cannot work with them. Nothing was changed.
        """
        with self._lock:
            values = _values(self._conf, *self._where)
            group = self._conf[self._name]
            if values['driver'] != group.driver:
                return Changes(restart=('driver',))
            options = {option.dest: option for option in _options(group.driver)}
            changed = [name for name in options if values[name] != self._known.get(name, group[name])]
            now = [name for name in changed if options[name].mutable]
            applied = [
                name for name in now if values[name] != group[name]
            ]  # the process may have read its files since
            changes = Changes(tuple(applied), tuple(name for name in changed if name not in now))
            if not apply:
                return changes
            for name in applied:
                self._conf.set_override(name, values[name], self._name)
            self._ours.update(applied)
            self._known = (
                {name: group[name] for name in options} | self._known | {name: values[name] for name in now}
            )
            return changes

    def follow_files(self) -> None:
        """Drop the values read since the start: the process has just read all its files anew."""
        with self._lock:
            while self._ours:
                self._conf.clear_override(self._ours.pop(), self._name)


def adopt(conf: cfg.ConfigOpts, name: str) -> None:
    """Give the section of a backend the values in its files, in a process that was forked from one that read them earlier.

    If they cannot be used, the values of that process stay, and the log says why.
    """
    state_dir = Path(conf.state_path) / name
    try:
        values = _values(conf, name, f'{conf.host}@{name}', state_dir)
    except errors.BadConfig as bad:
        LOG.error('[%s] the configuration could not be read again; earlier values stay in use: %s', name, bad)
        return
    options = _options(values['driver'])
    conf.register_opts(options, group=name)
    for option in options:
        if values[option.dest] != conf[name][option.dest]:
            conf.set_override(option.dest, values[option.dest], name)


def _options(driver: str) -> list[cfg.Opt]:
    return [*backend_conf.BACKEND, *load.load_class(driver).OPTIONS]


def _values(conf: cfg.ConfigOpts, name: str, host: str, state_dir: Path) -> dict[str, Any]:
    """Return the values of a section as they are in the files now, or those in use if there are no files.

    :raises errors.BadConfig: the files cannot be read, or the backend cannot work with them.
    """
    paths = [
        *(f'--config-file={path}' for path in getattr(conf, 'config_file', None) or ()),
        *(f'--config-dir={folder}' for folder in conf.config_dirs),
    ]
    if not paths:
        return {option.dest: conf[name][option.dest] for option in _options(conf[name].driver)}
    try:
        fresh = _parsed(conf, paths)
        backend_conf.register_backend(fresh, name)
        driver = fresh[name].driver
        if not driver:
            raise errors.BadConfig(
                f'[{name}] driver: missing; name a driver, for instance "linux" or "dummy"'
            )
        load.check(load.load_class(driver), name, host, fresh, state_dir)
        return {option.dest: fresh[name][option.dest] for option in _options(driver)}
    except (cfg.Error, OSError, ValueError) as bad:
        raise errors.BadConfig(' '.join(str(bad).split())) from None


def _parsed(conf: cfg.ConfigOpts, paths: list[str]) -> cfg.ConfigOpts:
    """Return the files as they are now. References such as $state_path mean the values in use."""
    fresh = manila_lite.conf.register(cfg.ConfigOpts())
    fresh(paths, project='manila_lite', default_config_files=[], default_config_dirs=[])
    for option in backend_conf.DEFAULT:
        fresh.set_override(option.dest, conf[option.dest])
    return fresh
