# SPDX-License-Identifier: Apache-2.0
"""Words about an operation."""

from manila_lite_client.operations import DONE, OPEN, Operation

_GIB = 1 << 30


def printable(text: str) -> str:
    """Return the text with everything escaped that could steer a terminal: it may have words of a backend or of others."""
    return ''.join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def phase(op: Operation) -> str:
    """Return what happens now: ``copy, step 4 of 6``."""
    words = [str(op.phase)]
    if op.steps and op.steps > 1:
        words.append(f'step {op.step} of {op.steps}')
    return printable(f'{"undoing " if op.undoing else ""}{", ".join(words)}')


def amount(op: Operation) -> str:
    """Return how much is done: ``1.5 of 3.0 GiB`` or ``3 of 10``; empty if that is not known."""
    done, total = op.figure('bytes_done'), op.figure('bytes_total')
    if done is not None:
        return f'{done / _GIB:.1f}{"" if total is None else f" of {total / _GIB:.1f}"} GiB'
    done, total = op.figure('done'), op.figure('total')
    return '' if done is None else f'{done}{"" if total is None else f" of {total}"}'


def time_left(op: Operation) -> str:
    """Return how long it takes yet: ``3 min left``; empty if that is not known."""
    seconds = op.figure('seconds_left')
    if seconds is None:
        return ''
    return f'{seconds} s left' if seconds < 100 else f'{round(seconds / 60)} min left'


def trouble(op: Operation) -> str:
    """Return why the operation failed, or has failed so far; empty if it has not."""
    return printable(op.error or '')


def title(op: Operation) -> str:
    """Return the kind of the operation and its resource."""
    return printable(f'{op.kind} of {op.resource_id}')


def sentence(op: Operation) -> str:
    """Return the progress on one line."""
    if op.state == OPEN:
        percent = op.figure('percent')
        parts = [phase(op), '' if percent is None else f'{percent} %', amount(op), time_left(op), trouble(op)]
        return f'{title(op)}: {", ".join(part for part in parts if part)}'
    return f'{title(op)}: {op.state}' if op.state == DONE else failure(op)


def failure(op: Operation) -> str:
    """Return the error of an operation that did not end well, as a sentence."""
    state = 'was set aside' if op.state == 'parked' else op.state
    return f'{title(op)} {state}: {trouble(op) or "the service gave no reason."}'
