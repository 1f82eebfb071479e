# SPDX-License-Identifier: Apache-2.0
"""Ordered faults: the dummy can be slow, fail, hang, return half an answer or die at a named call.

A knob reads ``method:action[_after][=seconds][@once|@times=N]``, for instance ``create_share:delay=2``,
``delete_share:fail@once``, ``create_snapshot:die_after@once``, ``*:delay=0.1``. Without ``_after`` the fault comes
before the work. With it the fault comes after the work, even if that ended in an error. ``partial`` cuts the answer.
Knobs come from the option ``dummy_knobs`` and from the file ``knobs`` in the state directory, which has one a line and
is read anew at each call.
"""

import collections
import dataclasses
import functools
import os
import re
import signal
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from manila_lite import errors, values
from manila_lite.drivers import interface

_TEXT = re.compile(
    r'(?P<method>\*|[a-z_]+):(?P<action>[a-z_]+?)(?P<after>_after|_before)?'
    r'(?:=(?P<seconds>\d+(?:\.\d+)?))?(?:@(?:(?P<once>once)|times=(?P<times>\d+)))?'
)
_POLL = 0.05

#: Methods of the contract with a default, which the dummy replaces.
_REPLACED = frozenset(('choose_share_server_compatible_for_migration', 'inspect_shares'))
#: The methods that have knobs: these, and all abstract methods of the contract.
METHODS = _REPLACED.union(
    *(base.__abstractmethods__ for base in (interface.ShareDriver, *interface.ABILITIES))  # type: ignore[attr-defined]
)


@dataclasses.dataclass(frozen=True)
class Knob:
    """One fault. ``times`` is how often it happens; None means always."""

    text: str
    method: str
    action: str
    after: bool = False
    seconds: float = 0.0
    times: int | None = None

    @classmethod
    def parse(cls, text: str) -> 'Knob':
        """Return the knob that a text describes.

        :raises ValueError: the text is no valid knob.
        """
        match = _TEXT.fullmatch(text.strip())
        if match is None or match['action'] not in ACTIONS:
            raise ValueError(
                f'{text!r} is no knob: write method:action[_after][=seconds][@once|@times=N] with an '
                f'action of {", ".join(sorted(ACTIONS))}'
            )
        if match['method'] not in {'*', *METHODS}:
            raise ValueError(f'{text!r} is no knob: the methods are {", ".join(sorted(METHODS))}')
        times = 1 if match['once'] else int(match['times']) if match['times'] else None
        return cls(
            text.strip(),
            match['method'],
            match['action'],
            match['after'] == '_after',
            float(match['seconds'] or 0),
            times,
        )


class Knobs:
    """The knobs of one backend. Uses are counted on disk, so that a used-up knob stays used up after the process died."""

    def __init__(self, state_dir: Path, fixed: Iterable[str] = ()):
        self.file = state_dir / 'knobs'
        self.used = state_dir / 'knobs_used'
        self.closing = threading.Event()
        self._fixed = tuple(map(Knob.parse, fixed))
        self._lock = threading.Lock()

    def turn(self, *texts: str) -> None:
        """Replace the knobs in the file by these, all of them unused.

        :raises ValueError: a text is no valid knob; the file is unchanged.
        """
        wanted = {Knob.parse(text).text for text in texts}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self._lock:
            self.used.write_text(''.join(f'{line}\n' for line in _lines(self.used) if line not in wanted))
            draft = self.file.with_suffix('.new')
            draft.write_text(''.join(f'{text}\n' for text in texts))
            draft.replace(self.file)

    def live(self, method: str) -> list[Knob]:
        """Return the knobs that are set for a method now, used up or not."""
        knobs = (*self._fixed, *map(Knob.parse, _lines(self.file)))
        return [knob for knob in knobs if knob.method in ('*', method)]

    def meet(self, method: str, *, after: bool) -> None:
        """Run the faults that are set for this moment of a call."""
        for knob in self.live(method):
            if knob.after == after and knob.action != 'partial' and self._take(knob):
                ACTIONS[knob.action](self, method, knob)

    def cut(self, method: str, answer: Any) -> Any:
        """Return the answer, or only its first half if a knob says ``partial``."""
        if not any(knob.action == 'partial' and self._take(knob) for knob in self.live(method)):
            return answer
        if isinstance(answer, Mapping):
            return dict(list(answer.items())[: len(answer) // 2])
        return answer[: len(answer) // 2] if isinstance(answer, (list, tuple)) else None

    def _take(self, knob: Knob) -> bool:
        if knob.times is None:
            return True
        with self._lock:
            if collections.Counter(_lines(self.used))[knob.text] >= knob.times:
                return False
            with self.used.open('a') as used:
                used.write(f'{knob.text}\n')
            return True

    def delay(self, method: str, knob: Knob) -> None:
        """Wait for ``seconds``, or until the driver is shutting down."""
        self.closing.wait(knob.seconds)

    def fail(self, method: str, knob: Knob) -> None:
        error, text = _ERRORS[knob.action]
        raise error(text.format(method=method, knob=knob.text))

    def hang(self, method: str, knob: Knob) -> None:
        """Wait until the knob is removed.

        :raises ConnectionError: the driver is shutting down.
        """
        while knob in self.live(method):
            if self.closing.wait(_POLL):
                raise ConnectionError(f'{method} was still hanging at shutdown')

    def die(self, method: str, knob: Knob) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


#: Errors, by the action: the first is taken for "perhaps still running"; ``refuse`` is about shrinking; ``deny`` answers like a
#: backend that was asked whether it could do something.
_ERRORS: dict[str, tuple[type[Exception], str]] = {
    'fail': (ConnectionError, '{method} lost touch with the backend: {knob}'),
    'fail_final': (errors.Final, '{method} cannot be done: {knob}'),
    'refuse': (errors.RefusedShrink, '{method} is refused: {knob}'),
    'deny': (errors.Final, 'This backend was told to deny {method}.'),
}
#: The actions of knobs. ``partial`` is done by ``cut``.
ACTIONS: dict[str, Callable[[Knobs, str, Knob], None]] = {
    'delay': Knobs.delay,
    **dict.fromkeys(_ERRORS, Knobs.fail),
    'hang': Knobs.hang,
    'die': Knobs.die,
    'partial': lambda knobs, method, knob: None,
}


def knobbed(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method of a driver with ``knobs`` and ``store``: record its calls, and run its knobs before and after
    it.
    """
    name = method.__name__

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.store.note_call(name, _ids(args))
        self.knobs.meet(name, after=False)
        try:
            answer = method(self, *args, **kwargs)
        finally:
            self.knobs.meet(name, after=True)
        return self.knobs.cut(name, answer)

    return call


def _ids(args: tuple[Any, ...]) -> list[str]:
    """Return the ids that a call is about: the id of its first argument, or of each of its targets."""
    if not args:
        return []
    targets = args[0] if isinstance(args[0], (list, tuple)) else [args[0]]
    return [target.share.id if isinstance(target, values.EnsureTarget) else target.id for target in targets]


def _lines(file: Path) -> list[str]:
    try:
        return [line.strip() for line in file.read_text().splitlines() if line.strip()]
    except FileNotFoundError:
        return []
