# SPDX-License-Identifier: Apache-2.0
"""The dummy driver with faults for single projects: errors and answers as ordered, around real work."""

import functools
from collections.abc import Callable
from typing import Any

from manila_lite import errors, values
from manila_lite.drivers.dummy.driver import DummyDriver
from manila_lite.drivers.dummy.knobs import METHODS
from manila_lite.tests.crash import files
from manila_lite.tests.crash.orders import Orders

#: Methods that operations call, or a start of the backend.
FAULTY = sorted(method for method in METHODS - {'setup', 'report'} if hasattr(DummyDriver, method))


def _projects(args: tuple[Any, ...]) -> list[str]:
    first = args[0]
    if isinstance(first, values.Snapshot | values.Replica):
        return [first.share.project_id]
    if isinstance(first, values.ServerMigration | values.ShareMigration):
        return [first.source.project_id]
    if isinstance(first, values.Share | values.ShareServer | values.Backup):
        return [first.project_id]
    if first and isinstance(first[0], values.ShareServer):
        return [server.project_id for server in first]
    return [target.share.project_id for target in first]


def _half(answer: Any) -> Any:
    """Return the answer without its last item."""
    if isinstance(answer, dict):
        return dict(list(answer.items())[:-1])
    return answer[:-1] if isinstance(answer, list) else answer


def _wrong_items(answer: Any) -> Any:
    if isinstance(answer, dict):
        return dict.fromkeys(answer, 42)
    return [42] * len(answer) if isinstance(answer, list) else {'no': 'answer'}


def _raise(error: Exception) -> None:
    raise error


#: Faults before the work: name -> function.
BEFORE: dict[str, Callable[[], None]] = {
    'raises once': lambda: _raise(RuntimeError('as ordered, once')),
    'raises always': lambda: _raise(RuntimeError('as ordered')),
    'refuses': lambda: _raise(errors.Final('The backend refuses, as ordered.')),
}
#: Faults after the work.
AFTER: dict[str, Callable[[Any], Any]] = {
    'works, then refuses': lambda answer: _raise(errors.Final('The backend refuses late, as ordered.')),
    'answers in part': _half,
    'answers nothing': lambda answer: None,
    'answers a number': lambda answer: 42,
    'answers wrong items': _wrong_items,
}
#: The process is killed while the driver hangs, before its work or after it.
HANGS = ('hangs, is killed', 'works, hangs, is killed')


def place(method: str, fault: str) -> str:
    """Return the place's name for a driver that hangs."""
    return f'driver {method}: {fault}'


class WithFiles(DummyDriver):
    """The dummy driver, whose shares have a directory each."""

    def create_share(self, share: values.Share) -> Any:
        locations = super().create_share(share)
        files.make(self.backend.state_dir.parent, self._place(share))
        return locations

    def delete_share(self, share: values.Share) -> None:
        files.delete(self.backend.state_dir.parent, self._place(share))
        super().delete_share(share)

    def _place(self, share: values.Share) -> str:
        return files.name(share.id, self.backend.name, on_server=self.HANDLES_SHARE_SERVERS)

    def _locations(self, share: values.Share, record: Any) -> list[values.ExportLocation]:
        locations = super()._locations(share, record)
        if self.HANDLES_SHARE_SERVERS:  # the addresses of share servers are not known before
            locations.append(values.ExportLocation(files.export(self._place(share)), False, True))
        return locations


def _faulty(method: str) -> Callable[..., Any]:
    plain = getattr(WithFiles, method)

    @functools.wraps(plain)
    def call(self: 'Faulty', *args: Any) -> Any:
        ordered = [
            (project, self.orders.of(project).get('faults', {}).get(method)) for project in _projects(args)
        ]
        ordered = [(project, fault) for project, fault in ordered if fault]
        for project, fault in ordered:
            if fault == 'raises once' and not self.orders.once(project, method):
                continue
            BEFORE.get(fault, lambda: None)()
            self.orders.reach(project, place(method, HANGS[0]))
        answer = plain(self, *args)
        for project, fault in ordered:
            self.orders.reach(project, place(method, HANGS[1]))
            if fault in AFTER and (method != 'ensure_shares' or self.orders.once(project, method)):
                answer = AFTER[fault](answer)
        return answer

    return call


class Faulty(WithFiles):
    """The dummy driver with files, except where a project's orders name a fault for a method."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.orders = Orders.given()

    def setup(self) -> None:
        super().setup()
        self.orders.works_here(self.backend.name)


for _name in FAULTY:
    setattr(Faulty, _name, _faulty(_name))
