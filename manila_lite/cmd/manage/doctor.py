# SPDX-License-Identifier: Apache-2.0
"""``manila-manage doctor``: resources that are not in a terminal state, the problems among them, and their repair."""

import datetime
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_log import log

from manila_lite import context, doctor, errors
from manila_lite.cmd import log_lines
from manila_lite.cmd.manage.command import FORMAT, GOOD, WRONG, Call, Command, argument, natural
from manila_lite.db.maintenance import schema_revisions

LOG = log.getLogger(__name__)

_HEADS = ('wrong', 'what', 'id', 'state', 'about', 'age', 'tries', 'why')


def examine(call: Call) -> int:
    """List all resources and operations not in a terminal state, with their problems. Exit status 1: there are problems.

    With --fix, problems are first repaired, while services may run: work is freed, woken or restarted; work that cannot be
    resumed ends in its failed status; rows without an owner are deleted.
    """
    if schema_revisions.is_older(call.db):
        raise errors.BadConfig('the schema is older than this release: run "manila-manage db sync"')
    services = call.services()
    failed = _fix(call, services) if call.args.fix else False
    findings = doctor.list_findings(services, call.args.older_than)
    call.show(
        _HEADS, [_line(finding) if call.args.format == 'table' else finding.as_dict() for finding in findings]
    )
    wrong = sum(finding.wrong for finding in findings)
    mendable = any(finding.wrong and finding.mend for finding in findings)
    if call.args.format == 'table':
        print(f'{wrong} of {len(findings)} are wrong.{_FIX if mendable and not call.args.fix else ""}')
    return WRONG if wrong or failed else GOOD


_FIX = ' Run it with --fix.'
#: One repair may reveal another problem.
_ROUNDS = 3


def _fix(call: Call, services: context.Services) -> bool:
    """Repair the problems and print a line for each; return whether a repair failed."""
    for _ in range(_ROUNDS):
        findings = [
            finding for finding in doctor.list_findings(services, call.args.older_than) if finding.mend
        ]
        results = [_mend(services, finding) for finding in findings]
        if True not in results:
            break
    return None in results


def _mend(services: context.Services, finding: doctor.Finding) -> bool | None:
    """Return whether there was something to repair; None if the repair failed."""
    try:
        said, done = doctor.mend(services, finding), True
    except Exception as bad:
        LOG.exception('%s: could not be repaired', finding.id)
        said, done = f'could not be repaired: {bad.__class__.__name__}: {bad}', None
    if said is None:
        return False
    # Not on standard output, which may hold JSON for programs.
    print(
        log_lines.escaped(f'{finding.what} {finding.id} {finding.state}: {" ".join(said.split())}'),
        file=sys.stderr,
    )
    return done


def _line(finding: doctor.Finding) -> Mapping[str, Any]:
    why = finding.why
    if finding.error and finding.error not in why:
        why += f'; last error: {finding.error}'
    if finding.lease_left is not None and finding.lease_left > 0:
        why += f'; lease for {finding.lease_left:.0f} s'
    return {
        'wrong': '!' if finding.wrong else '',
        'what': finding.what,
        'id': finding.id,
        'state': finding.state,
        'about': finding.about,
        'age': _age(finding.age),
        'tries': finding.attempts,
        'why': ' '.join(why.split()),
    }


def _age(seconds: float | None) -> str:
    return '' if seconds is None else str(datetime.timedelta(seconds=round(max(seconds, 0))))


COMMANDS: Sequence[Command] = (
    Command(
        'doctor',
        '',
        examine,
        [
            argument('--fix', action='store_true', help='repair the problems'),
            argument(
                '--older-than',
                type=natural,
                default=0,
                metavar='SECONDS',
                help='skip findings younger than this',
            ),
            FORMAT,
        ],
    ),
)
