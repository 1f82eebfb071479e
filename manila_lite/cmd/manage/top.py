# SPDX-License-Identifier: Apache-2.0
"""``manila-manage top``: a live overview of the service, from the database itself; no API has to run."""

import signal
import sys
import time

from rich.console import Console
from rich.live import Live

from manila_lite.cmd.manage.command import GOOD, Call, Command, argument, seconds
from manila_lite.cmd.manage.overview import Overview, OverviewReader
from manila_lite.cmd.manage.overview_page import Page, plain
from manila_lite.cmd.manage.watch import STOPPED
from manila_lite.db.core import engine


def show(call: Call) -> int:
    """Show operations, pools and services, as they are now, until Ctrl-C. Nothing is changed.

    A terminal shows a page with bars, and is then as it was before. Other output gets one overview as plain text. Exit
    status 130: Ctrl-C was pressed.
    """
    reader = OverviewReader(call.services())
    console = Console(file=sys.stdout)
    if call.args.once or not sys.stdout.isatty() or console.is_dumb_terminal:
        print(plain(reader.read()))
        return GOOD
    return _follow(reader, console, call.args.every)


def _follow(reader: OverviewReader, console: Console, every: float) -> int:
    # Whoever ends it in another way gets the terminal back, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        now = reader.read()
        with Live(Page(now), console=console, screen=True, auto_refresh=False) as live:
            while True:
                time.sleep(every)
                now, page = _read(reader, now)
                live.update(page, refresh=True)
    except KeyboardInterrupt:
        return STOPPED


def _read(reader: OverviewReader, before: Overview) -> tuple[Overview, Page]:
    try:
        now = reader.read()
    except engine.TRANSIENT as bad:
        return before, Page(before, f'The database does not answer, so this is what was: {bad}')
    return now, Page(now)


COMMANDS = (
    Command(
        'top',
        '',
        show,
        (
            argument('--once', action='store_true', help='show it once, as plain text, at a terminal, too'),
            argument(
                '--every',
                type=seconds,
                default=1.0,
                metavar='SECONDS',
                help='seconds between two looks at the database; default: 1',
            ),
        ),
    ),
)
