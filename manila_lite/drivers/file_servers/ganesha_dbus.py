# SPDX-License-Identifier: Apache-2.0
"""Commands to a running NFS-Ganesha over its private D-Bus."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dbus_fast import AuthError, BusType, Message, MessageType
from dbus_fast.aio import MessageBus

from manila_lite.host.commands import CommandFailed

_SECONDS = 15.0
#: The answers of complete success. Other answers may contain "updated" too, and continue with errors.
_CLEAN = {'AddExport': '1 exports added', 'UpdateExport': '1 exports updated'}
#: Positions in the answer to DisplayExport.
_PATH, _CLIENTS = 1, 4
_BAD_FILE = 'org.freedesktop.DBus.Error.InvalidFileContent'
#: What NFS-Ganesha says of an export that it does not serve. One that is being started gives another error.
_NOT_SERVED = 'org.freedesktop.DBus.Error.InvalidArgs'


class ExportManager:
    """The export manager behind one socket. Safe for threads: every call has its own connection."""

    def __init__(self, socket: Path):
        self._socket = socket

    def call(self, member: str, signature: str = '', body: Sequence[Any] = (), *, position: int = 0) -> Any:
        """Return the value at a position of the answer.

        :raises CommandFailed: NFS-Ganesha refused, does not run, or did not answer in time.
        """
        reply = self._ask(member, signature, body)
        if reply.message_type is MessageType.ERROR:
            raise CommandFailed(f'{member}: {reply.error_name}: {_text(reply)}')
        return reply.body[position] if len(reply.body) > position else ()

    def apply(self, member: str, file: Path, number: int) -> str:
        """Add or update the export that the file describes. Returns the errors in the file, '' for none.

        :raises CommandFailed: the call failed for another reason than the file.
        """
        reply = self._ask(member, 'ss', [str(file), f'EXPORT(Export_Id={number})'])
        said = _text(reply)
        if reply.message_type is MessageType.ERROR and reply.error_name != _BAD_FILE:
            raise CommandFailed(f'{member} {number}: {reply.error_name}: {said}')
        return '' if said.strip() == _CLEAN[member] else said or str(reply.error_name)

    def shown(self) -> dict[int, str]:
        """Return the paths of all served exports, by number."""
        return {int(entry[0]): str(entry[1]) for entry in self.call('ShowExports', position=1)}

    def displayed(self, numbers: Sequence[int]) -> dict[int, tuple[str, Sequence[Any]]]:
        """Return the path and the clients of each of these exports, by number; those that are not served are left out.

        The cost does not depend on the number of other exports.

        :raises CommandFailed: NFS-Ganesha does not run, is being started, or did not answer in time.
        """
        replies = self._ask_all('DisplayExport', 'q', [(number,) for number in numbers]) if numbers else ()
        served = {}
        for number, reply in zip(numbers, replies, strict=True):
            if reply.message_type is not MessageType.ERROR:
                served[number] = str(reply.body[_PATH]), reply.body[_CLIENTS]
            elif reply.error_name != _NOT_SERVED:
                raise CommandFailed(f'DisplayExport {number}: {reply.error_name}: {_text(reply)}')
        return served

    def _ask(self, member: str, signature: str, body: Sequence[Any]) -> Message:
        return self._ask_all(member, signature, [body])[0]

    def _ask_all(self, member: str, signature: str, bodies: Sequence[Sequence[Any]]) -> list[Message]:
        """Return the answers to several questions, which are asked in sequence."""

        async def ask() -> list[Message | None]:
            bus = await asyncio.wait_for(
                MessageBus(f'unix:path={self._socket}', BusType.SYSTEM).connect(), _SECONDS
            )
            try:
                return [
                    await asyncio.wait_for(
                        bus.call(
                            Message(
                                destination='org.ganesha.nfsd',
                                path='/org/ganesha/nfsd/ExportMgr',
                                member=member,
                                interface='org.ganesha.nfsd.exportmgr',
                                signature=signature,
                                body=list(body),
                            )
                        ),
                        _SECONDS,
                    )
                    for body in bodies
                ]
            finally:
                bus.disconnect()

        try:
            replies = asyncio.run(ask())
        except (OSError, EOFError, TimeoutError, AuthError) as bad:
            raise CommandFailed(f'{member}: {type(bad).__name__} {bad}') from bad
        if not all(replies):
            raise CommandFailed(f'{member}: no answer')
        return [reply for reply in replies if reply]


def _text(reply: Message) -> str:
    return ' '.join(str(part) for part in reply.body)
