# SPDX-License-Identifier: Apache-2.0
"""Write a manual page for each command, from its parser: tools/packaging/manpages.py DIRECTORY"""

import argparse
import datetime
import os
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import parsers
from docutils import core

#: Commands, what each is for, and the pages to read next.
SUMMARIES = {
    'manila-api': 'API of shared file systems',
    'manila-linux-convert': 'copy a directory pool of a linux backend to btrfs',
    'manila-linux-peer': 'serve another linux backend that takes shares over',
    'manila-linux-user': 'edit the users of CIFS shares of a linux backend',
    'manila-lite': 'API, scheduler and share managers in one process',
    'manila-manage': 'administer the schema, services and records of shares',
    'manila-scheduler': 'scheduler of shared file systems',
    'manila-share': 'share manager: serve the shares of this host',
    'manila-status': 'check whether an upgrade may start',
    'mlite-compute': 'attach shares to virtual machines: API and agent in one process',
    'mlite-compute-agent': 'attach shares to virtual machines: agent of a host',
    'mlite-compute-api': 'attach shares to virtual machines: API',
    'mlite-dataproc': 'mount shares on clusters: API and engine in one process',
    'mlite-dataproc-api': 'mount shares on clusters: API',
    'mlite-dataproc-engine': 'mount shares on clusters: engine',
}
#: Commands that are no services: they end by themselves.
_NO_SERVICES = {
    'manila-linux-convert',
    'manila-linux-peer',
    'manila-linux-user',
    'manila-manage',
    'manila-status',
}
_SECTION = 8
_SIGNALS = """
SIGTERM: take no new work, finish work in progress, and end.

SIGHUP: read the configuration files again.
"""
_FILES = """
/etc/manila_lite/manila_lite.conf: read if no other file is named.
"""
_SEE = """
/usr/share/doc/manila-lite-common/README.Debian, and the pages for administrators in doc/source/admin of the source.
"""


def page(entry: metadata.EntryPoint, version: str, date: datetime.date) -> str:
    """Return the manual page of a command, in roff."""
    text = '\n'.join(_lines(entry, version, date))
    return core.publish_string(
        text, writer_name='manpage', settings_overrides={'report_level': 2, 'halt_level': 2}
    ).decode()


def _lines(entry: metadata.EntryPoint, version: str, date: datetime.date) -> Iterator[str]:
    parser = parsers.of(entry)
    summary = SUMMARIES[entry.name]
    yield from _heading(entry.name, '#')
    yield from _heading(summary, '+')
    yield f':Manual section: {_SECTION}\n:Manual group: manila_lite\n:Version: {version}\n:Date: {date}'
    yield from _heading('SYNOPSIS', '=')
    yield from ('::', '', *(f'    {line}' for line in _usage(parser)))
    yield from _heading('DESCRIPTION', '=')
    yield _escaped(parser.description or sys.modules[entry.module].__doc__ or f'{summary}.')
    yield from _heading('OPTIONS', '=')
    yield from _arguments(parser)
    below = list(parsers.walk(parser))[1:]
    if below:
        yield from _heading('COMMANDS', '=')
    for path, one in below:
        if not parsers.subparsers(one):
            yield from _heading(' '.join(path), '-')
            yield _escaped(one.description or '')
            yield from _arguments(one)
    if entry.name not in _NO_SERVICES:
        yield from _heading('SIGNALS', '=')
        yield _SIGNALS
    if entry.name.startswith('manila-') and entry.name != 'manila-linux-convert':
        yield from _heading('FILES', '=')
        yield _FILES
    yield from _heading('SEE ALSO', '=')
    yield _SEE


def _heading(text: str, line: str) -> tuple[str, ...]:
    return '', text, line * len(text), ''


def _usage(parser: argparse.ArgumentParser) -> list[str]:
    first, *others = parser.format_usage().removeprefix('usage: ').splitlines()
    return [first, *(line.removeprefix(' ' * len('usage: ')) for line in others)]


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    formatter = parser._get_formatter()
    for action in parsers.actions(parser):
        yield f'\n{_escaped(formatter._format_action_invocation(action))}'
        text = formatter._expand_help(action) if action.help else ''
        yield f'    {_escaped(text) or "(no help)"}'


def _escaped(text: str) -> str:
    """Return a text with the marks of code removed and all others escaped."""
    return re.sub(r'([\\*_`|])', r'\\\1', ' '.join(text.replace('``', '').split()))


def main() -> None:
    """Write all pages."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    date = datetime.datetime.fromtimestamp(int(os.environ.get('SOURCE_DATE_EPOCH', '0')), datetime.UTC).date()
    for entry in parsers.commands():
        entry.load()
        # Each in a process of its own: options of oslo.config are global.
        if child := os.fork():
            if os.waitpid(child, 0)[1]:
                sys.exit(f'no manual page for {entry.name}')
            continue
        (folder / f'{entry.name}.{_SECTION}').write_text(page(entry, metadata.version('manila-lite'), date))
        os._exit(0)


if __name__ == '__main__':
    main()
