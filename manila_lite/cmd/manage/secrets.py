# SPDX-License-Identifier: Apache-2.0
"""``manila-manage secret``: count secrets by their encryption, and encrypt all of them with the first key."""

import sys
from collections import Counter
from collections.abc import Sequence

from manila_lite import errors
from manila_lite.cmd.manage.command import FORMAT, GOOD, WRONG, Call, Command
from manila_lite.cmd.manage.watch import STOPPED, Progress, display, fraction
from manila_lite.db.maintenance import schema_revisions
from manila_lite.encryption import key_file, renewal
from manila_lite.encryption.keys import BEFORE_ENCRYPTION

_STATES = (renewal.FIRST, renewal.ANOTHER, renewal.PLAIN, renewal.LOST)
#: Lost secrets whose ids are printed.
_NAMED = 20


def secret_list(call: Call) -> int:
    """Count the secrets by their encryption. Exit status 1: some are plain, or encrypted with a key that is missing here."""
    _need_schema(call)
    counts = renewal.count_secrets(call.conf, call.db)
    call.show(
        ('secrets', *_STATES),
        [
            {'secrets': kind, **{state: counted[state] for state in _STATES}}
            for kind, counted in counts.items()
        ],
    )
    return (
        WRONG
        if any(counted[state] for counted in counts.values() for state in (renewal.PLAIN, renewal.LOST))
        else GOOD
    )


def reencrypt(call: Call) -> int:
    """Encrypt all secrets with the first key, also plain secrets and those of other keys. Services may run.

    The command can be stopped and run again at any time. Exit status: 0 all secrets are done, 1 the key of some secrets is
    missing here, 130 Ctrl-C was pressed.
    """
    _need_schema(call)
    if call.conf.upgrade_levels.operations == BEFORE_ENCRYPTION:
        raise errors.Conflict(
            f'[upgrade_levels] operations is pinned to {BEFORE_ENCRYPTION}, for processes that cannot read '
            'encrypted secrets: set it to auto when they are stopped'
        )
    total = sum(sum(counted.values()) for counted in renewal.count_secrets(call.conf, call.db).values())
    done: Counter[str] = Counter()
    lost: list[str] = []
    try:
        with display() as show:
            for portion in renewal.reencrypt(call.conf, call.db):
                done.update(state for _, state in portion)
                lost += [f'{secret.kind}: {secret.id}' for secret, state in portion if state == renewal.LOST]
                if portion:
                    total = max(total, done.total())
                    show.update(
                        Progress(
                            portion[0][0].kind,
                            100 * done.total() // total,
                            fraction(done.total(), total, 'secrets'),
                        )
                    )
    except KeyboardInterrupt:
        print('manila-manage: stopped; run it again for the rest', file=sys.stderr)
        return STOPPED
    print(
        f'{done[renewal.PLAIN] + done[renewal.ANOTHER]} secrets were encrypted again, {done[renewal.FIRST]} had the first '
        'key already.'
    )
    for one in lost[:_NAMED]:
        print(f'manila-manage: no key decrypts one of the {one}', file=sys.stderr)
    if lost:
        print(
            f'manila-manage: {len(lost)} secrets cannot be decrypted with the keys of this host: add their key to the '
            'file, or have them set again',
            file=sys.stderr,
        )
    return WRONG if lost else GOOD


def new_key(call: Call) -> int:
    """Print a new key, as a line for the key file. Nothing is changed."""
    print(key_file.new())
    return GOOD


def _need_schema(call: Call) -> None:
    if schema_revisions.current(call.db) != schema_revisions.head(call.db):
        raise errors.Conflict('the schema is not the one of this release: run "manila-manage db sync"')


COMMANDS: Sequence[Command] = (
    Command('secret', 'list', secret_list, [FORMAT]),
    Command('secret', 'reencrypt', reencrypt),
    Command('secret', 'new_key', new_key, logged=False),
)
