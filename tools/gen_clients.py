#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write doc/source/user/clients.rst from the tables of commands in the tests of the clients.

Usage: tools/gen_clients.py [--check] [ROOT]. With --check nothing is written: exit 1 if the page is out of date. The commands
and methods are those of the clients installed here (constraints.txt has their versions).
"""

import argparse
import importlib.metadata
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator, Sequence

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE))

import manila_lite.cmd  # noqa: E402, F401 - first: threads
from manila_lite.tests.functional.clients import commands, nova, osc, sdk, wire  # noqa: E402

PAGE = 'doc/source/user/clients.rst'
#: Name of a call in the source of the Go program.
_TOLD = re.compile(r'"([a-z]+\.[A-Z]\w+)"')
WORKS, LACKS = 'works', 'not served yet'
HEAD = """\
..
   Written by tools/gen_clients.py from the tables of manila_lite/tests/functional/clients: change those, then run it.

Calls of the clients
====================

The tests run each row against a running service. ``works`` is their result; a call that is not served yet was refused.
Commands and methods of a newer client fail the tests until they have a row here.
"""


def heading(text: str) -> list[str]:
    return ['', text, '-' * len(text), '']


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield from ('.. list-table::', '   :header-rows: 1', '')
    for row in (heads, *rows):
        yield from (f'   {" " if number else "*"} - {cell}'.rstrip() for number, cell in enumerate(row))
    yield ''


def version(package: str) -> str:
    return f'{package} {importlib.metadata.version(package)}'


def command_page() -> Iterator[str]:
    yield from heading('The openstack command')
    yield from (f'{version("python-manilaclient")}, {version("python-openstackclient")}: every ``openstack share`` command,',
                'as the tests call it, or the request that is missing for it.', '')
    known = osc.commands()
    called: dict[str, str] = {}
    for line in osc.read(commands.LINES):
        called.setdefault(osc.command_of(line.words, known), line.words)
    missing = {name: commands.not_served(name) for name in known}
    yield from table(('command', 'call', 'result'), (
        (f'``{name}``', f'``{" ".join(called[name].split())}``', WORKS) if name in called else
        (f'``{name}``', f'``{commands.NOT_SERVED[missing[name] or ""]}``', LACKS) for name in sorted(known)))


def sdk_page() -> Iterator[str]:
    yield from heading('openstacksdk')
    yield from (f'{version("openstacksdk")}: every method of ``connection.shared_file_system``.', '')
    yield from table(('method', 'result'), ((f'``{name}``', LACKS if name in sdk.NOT_SERVED else WORKS)
                                            for name in sorted(sdk.methods())))


def wire_page() -> Iterator[str]:
    yield from heading('Go, Terraform and others: what they depend on')
    yield from ('The requests are sent as these clients send them.', '')
    yield from table(('rule', 'who depends on it', 'requests', 'result'), (
        (row.rule, row.clients, _requests(row), WORKS) for row in (*wire.HANDSHAKE, *wire.TRAPS, *wire.FAILURES)))


def _requests(row: wire.Row) -> str:
    if row.elsewhere:
        return f'``{row.elsewhere}``'
    asks = dict.fromkeys(f'{ask.method} {ask.prefix}{ask.path.partition("?")[0]}{_action(ask)}' for ask in row.asks)
    return ', '.join(f'``{ask}``' for ask in asks)


def _action(ask: wire.Ask) -> str:
    return f' {next(iter(ask.body))}' if ask.path.endswith('/action') else ''


def go_page() -> Iterator[str]:
    yield from heading('gophercloud')
    yield from ('The calls of its package ``sharedfilesystems``, as Debian 12 has it (0.12), made by itself.', '')
    files = (HERE / 'manila_lite/tests/functional/clients/gophercloud').glob('*.go')
    told = {name for path in files for name in _TOLD.findall(path.read_text(encoding='utf-8'))}
    yield from table(('call', 'result'), ((f'``{name}``', WORKS) for name in sorted(told)))


def nova_page() -> Iterator[str]:
    yield from heading('Nova')
    yield from ('Its own share client, with Keystone, and the whole of Nova with its fake hypervisor.', '')
    yield from table(('call', 'requests', 'test', 'result'), (
        (f'``{call}``', f'``{requests}``', f'``{test}``', WORKS) for call, requests, test in nova.CALLS))


def page() -> str:
    lines = [line for part in (command_page, sdk_page, wire_page, go_page, nova_page) for line in part()]
    return HEAD + '\n'.join(lines).rstrip('\n') + '\n'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--check', action='store_true')
    parser.add_argument('root', nargs='?', type=pathlib.Path, default=HERE)
    asked = parser.parse_args()
    path, text = asked.root / PAGE, page()
    if not asked.check:
        path.write_text(text, encoding='utf-8')
    elif not path.exists() or path.read_text(encoding='utf-8') != text:
        print(f'{PAGE} is old: run tools/gen_clients.py')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
