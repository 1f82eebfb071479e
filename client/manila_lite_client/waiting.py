# SPDX-License-Identifier: Apache-2.0
"""Waiting for the end of an operation."""

import time
from typing import Any

from osc_lib import exceptions

from manila_lite_client import display, operations, texts
from manila_lite_client.operations import Operation

#: Seconds between two looks, at first and at most, and the factor from one pause to the next.
FIRST, LAST, GROWTH = 1.0, 5.0, 1.1


def until_ended(service: Any, op: Operation, show: display.Bar | display.Lines) -> Operation:
    """Show the progress of the operation until it has ended. Return it as it is then."""
    pause = FIRST
    with show:
        show.show(op)
        while not op.has_ended:
            time.sleep(pause)
            pause = min(pause * GROWTH, LAST)
            op = operations.look(service, op.id)
            show.show(op)
    return op


def must_be_done(*ended: Operation) -> None:
    """Refuse operations that did not end well.

    :raises osc_lib.exceptions.CommandError: some did not; the message says why.
    """
    failures = [texts.failure(op) for op in ended if op.state != operations.DONE]
    if failures:
        raise exceptions.CommandError('\n'.join(failures))
