# SPDX-License-Identifier: Apache-2.0
"""The calls of the clients, from the tables of commands in their tests.

The commands and methods are those of the clients installed here (constraints.txt has their versions).
"""

import importlib.metadata
import pathlib
import re
from collections.abc import Iterator

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite.tests.functional.clients import commands, nova, osc, sdk, wire
from reference import rst

#: The source of the Go program, and a name of a call in it.
_GOPHERCLOUD = pathlib.Path(wire.__file__).with_name('gophercloud')
_CALL = re.compile(r'"([a-z]+\.[A-Z]\w+)"')
WORKS, LACKS = 'works', 'not served yet'


def lines() -> Iterator[str]:
    """Yield a section for each client."""
    for section in (_command_section, _sdk_section, _wire_section, _go_section, _nova_section):
        yield from section()


def _version(package: str) -> str:
    return f'{package} {importlib.metadata.version(package)}'


def _command_section() -> Iterator[str]:
    yield from rst.heading('The openstack command', '-')
    yield from (
        f'{_version("python-manilaclient")}, {_version("python-openstackclient")}: every ``openstack share`` command,',
        'as the tests call it, or the request that is missing for it. The role is the lowest that may run the command:',
        'higher roles may, too, and lower ones are refused with 403. Ids work in the place of names.',
        '',
    )
    known = osc.commands()
    called: dict[str, osc.Line] = {}
    for line in sorted(osc.read(commands.LINES), key=lambda line: osc.ROLES.index(line.role)):
        called.setdefault(osc.command_of(line.words, known), line)
    missing = {name: commands.not_served(name) for name in known}
    yield from rst.table(
        ('command', 'role', 'call', 'result'),
        (
            (f'``{name}``', called[name].role, f'``{" ".join(called[name].by_name.split())}``', WORKS)
            if name in called
            else (f'``{name}``', '', f'``{commands.NOT_SERVED[missing[name] or ""]}``', LACKS)
            for name in sorted(known)
        ),
    )


def _sdk_section() -> Iterator[str]:
    yield from rst.heading('openstacksdk', '-')
    yield from (f'{_version("openstacksdk")}: every method of ``connection.shared_file_system``.', '')
    yield from rst.table(
        ('method', 'result'),
        ((f'``{name}``', LACKS if name in sdk.NOT_SERVED else WORKS) for name in sorted(sdk.methods())),
    )


def _wire_section() -> Iterator[str]:
    yield from rst.heading('Go, Terraform and others: what they depend on', '-')
    yield from ('The requests are sent as these clients send them.', '')
    yield from rst.table(
        ('rule', 'who depends on it', 'requests', 'result'),
        (
            (row.rule, row.clients, _requests(row), WORKS)
            for row in (*wire.HANDSHAKE, *wire.TRAPS, *wire.FAILURES)
        ),
    )


def _requests(row: wire.Row) -> str:
    if row.elsewhere:
        return f'``{row.elsewhere}``'
    asks = dict.fromkeys(
        f'{ask.method} {ask.prefix}{ask.path.partition("?")[0]}{_action(ask)}' for ask in row.asks
    )
    return ', '.join(f'``{ask}``' for ask in asks)


def _action(ask: wire.Ask) -> str:
    return f' {next(iter(ask.body))}' if ask.path.endswith('/action') else ''


def _go_section() -> Iterator[str]:
    yield from rst.heading('gophercloud', '-')
    yield from (
        'The calls of its package ``sharedfilesystems``, as Debian 12 has it (0.12), made by itself.',
        '',
    )
    calls = {
        name for path in _GOPHERCLOUD.glob('*.go') for name in _CALL.findall(path.read_text(encoding='utf-8'))
    }
    yield from rst.table(('call', 'result'), ((f'``{name}``', WORKS) for name in sorted(calls)))


def _nova_section() -> Iterator[str]:
    yield from rst.heading('Nova', '-')
    yield from ('Its own share client, with Keystone, and the whole of Nova with its fake hypervisor.', '')
    yield from rst.table(
        ('call', 'requests', 'test', 'result'),
        ((f'``{call}``', f'``{requests}``', f'``{test}``', WORKS) for call, requests, test in nova.CALLS),
    )
