# SPDX-License-Identifier: Apache-2.0
"""The files and directories that the configuration names. A process of root uses none that another user could replace.

All options with an absolute path count, also those of libraries: a list of the dangerous ones would miss the next one.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oslo_config import cfg

from manila_lite.host import ownership

_SQLITE = 'sqlite:///'
#: SQLite keeps files with these endings beside a database.
_OF_SQLITE = ('', '-wal', '-shm', '-journal')
#: Sections with sockets to which something is sent, if at all: nothing is read from there.
_SENT_TO = ('oslo_messaging_metrics',)
#: Options whose value names a file in a directory of the configuration files.
_BESIDE = (('oslo_policy', 'policy_file'), ('oslo_policy', 'policy_dirs'), ('', 'log_config_append'))


def check(conf: cfg.ConfigOpts) -> None:
    """Check the configuration files themselves, and what they name.

    :raises errors.BadConfig: this process is root's, and another user could replace one of them; the message is one line.
    """
    if ownership.applies():
        for option, path in _named_paths(conf):
            ownership.check(path, option)


def databases(url: str) -> list[Path]:
    """Return the paths of a SQLite database, and of the files beside it; none for another database."""
    name = url.removeprefix(_SQLITE).partition('?')[0]
    return (
        []
        if not url.startswith(_SQLITE) or name in ('', ':memory:')
        else [Path(f'{name}{end}') for end in _OF_SQLITE]
    )


def find_flaws(conf: cfg.ConfigOpts) -> list[str]:
    """Return why a process of root would not start: each flaw once, with an option that it is in the way of."""
    flaws = {ownership.find_flaw(path): option for option, path in reversed([*_named_paths(conf)])}
    return [f'{option}: {flaw}' for flaw, option in reversed(flaws.items()) if flaw]


def check_backend(conf: cfg.ConfigOpts, name: str) -> None:
    """Check what the section of a backend names, with the directories above it, and everything in the backend's directory.

    :raises errors.BadConfig: see ``check``.
    """
    for option, path in _named(conf[name], f'[{name}] '):
        ownership.check(path, option)
    ownership.check_tree(Path(conf.state_path, name), 'state_path')


def _named_paths(conf: cfg.ConfigOpts) -> Iterator[tuple[str, Path]]:
    for file in getattr(conf, 'config_file', None) or ():
        yield 'configuration file', Path(file)
    for folder in conf.config_dirs:
        yield 'directory of configuration files', Path(folder)
        yield from (('configuration file', file) for file in sorted(Path(folder).glob('*.conf')))
    yield 'state_path', Path(conf.state_path)
    yield 'state_path', Path(conf.state_path, 'lock')
    connection = str(conf.database.connection or '') if 'database' in conf else ''
    yield from (('[database] connection', file) for file in databases(connection))
    if 'log_file' in conf and conf.log_file:
        yield 'log_file', Path(conf.log_dir or '', conf.log_file)
    yield from _beside(conf)
    for name in sorted({*conf}.difference(_SENT_TO)):
        value = conf[name]
        yield from _named(value, f'[{name}] ') if isinstance(value, Mapping) else _of(name, value)


def _beside(conf: cfg.ConfigOpts) -> Iterator[tuple[str, Path]]:
    sections = {'': conf, **({'oslo_policy': conf.oslo_policy} if 'oslo_policy' in conf else {})}
    for group, name in _BESIDE:
        value = sections[group][name] if group in sections and name in sections[group] else None
        for one in value if isinstance(value, list) else [value]:
            if one and (found := conf.find_file(one)):
                yield name, Path(found)


def _named(section: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Path]]:
    for name in section:
        try:
            value = section[name]
        except (cfg.Error, ValueError):
            continue  # what reads it says so
        yield from _of(f'{prefix}{name}', value)


def _of(option: str, value: Any) -> Iterator[tuple[str, Path]]:
    for one in value if isinstance(value, list | tuple) else [value]:
        if isinstance(one, str) and one.startswith('/') and '\0' not in one:
            yield option, Path(one)
