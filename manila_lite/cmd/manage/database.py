# SPDX-License-Identifier: Apache-2.0
"""``manila-manage db``: upgrades of the schema, and deletion of old rows."""

import datetime
import sys

from oslo_utils import timeutils

from manila_lite import encryption, errors
from manila_lite.cmd.manage.command import GOOD, WRONG, Call, Command, argument, days
from manila_lite.db.maintenance import schema_revisions
from manila_lite.db.queries import idempotency_keys, messages, operations, request_notes

_NEWER = 'The schema is at {}, of a later release; this one needs {}. Nothing has to be done.'


def sync(call: Call) -> int:
    """Upgrade the schema to the newest or the given revision. For a new database, also create the key for secrets."""
    _known(call, call.args.revision)
    if schema_revisions.is_newer(call.db):
        print(_NEWER.format(schema_revisions.current(call.db), schema_revisions.head(call.db)))
        return GOOD
    from manila_lite.db.maintenance import schema_migrations  # needs alembic

    schema_migrations.upgrade(call.db, call.args.revision or 'head')
    print(f'The schema is at {schema_revisions.current(call.db)}.')
    if schema_revisions.current(call.db) == schema_revisions.head(call.db):
        encryption.prepare(call.conf, call.db)
    return GOOD


def version(call: Call) -> int:
    """Print the revision of the schema."""
    print(schema_revisions.current(call.db) or 'none')
    return GOOD


def check(call: Call) -> int:
    """Check whether the schema has the revision that this release needs, or a later one."""
    now, newest = schema_revisions.current(call.db), schema_revisions.head(call.db)
    if schema_revisions.is_newer(call.db):
        print(_NEWER.format(now, newest))
        return GOOD
    if now == newest:
        print(f'The schema is at {now}, the newest.')
        return GOOD
    print(f'The schema is at {now or "nothing"}, not at {newest}: run "manila-manage db sync".')
    return WRONG


def stamp(call: Call) -> int:
    """Record a revision for the schema, without a change of the schema."""
    _known(call, call.args.revision)
    from manila_lite.db.maintenance import schema_migrations  # needs alembic

    known, before = schema_revisions.revisions(call.db), schema_revisions.current(call.db)
    schema_migrations.stamp(call.db, call.args.revision)
    if before in known and call.args.revision in known[: known.index(before)]:
        print(
            f'Warning: the tables were of revision {before}. "manila-manage db sync" would make what is there already, and '
            f'fail; "manila-manage db stamp {before}" undoes this. "manila-manage doctor --fix" makes missing triggers.',
            file=sys.stderr,
        )
    print(f'The recorded revision of the schema is {call.args.revision} now.')
    return GOOD


def downgrade(call: Call) -> int:
    """Refuse: revisions are not undone. To go back, restore the backup from before the upgrade, and install the old release.

    Nothing is changed, and the exit status is 1.
    """
    raise errors.Conflict(
        'the schema cannot be downgraded, and nothing was changed.\n'
        'To go back, restore the backup that was made before the upgrade, and install the old release: '
        'doc/source/admin/backup.rst'
    )


def _known(call: Call, revision: str | None) -> None:
    known = [*schema_revisions.revisions(call.db), 'head']
    if revision is not None and revision not in known:
        raise errors.Invalid(f'there is no revision {revision!r}; there are {", ".join(known)}')


def purge(call: Call) -> int:
    """Delete finished operations older than a number of days, expired messages, and expired answers."""
    with call.db.writer() as conn:
        gone = operations.delete_ended(
            conn, timeutils.utcnow() - datetime.timedelta(days=call.args.age_in_days)
        )
        expired = messages.delete_expired(conn)
        answers = idempotency_keys.delete_expired(conn)
        request_notes.delete_old(conn)
    print(f'{gone} finished operations, {expired} expired messages and {answers} expired answers are gone.')
    return GOOD


COMMANDS = (
    Command('db', 'sync', sync, [argument('revision', nargs='?', help='default: the newest')]),
    Command('db', 'version', version),
    Command('db', 'check', check),
    Command('db', 'stamp', stamp, [argument('revision', help='revision of the schema')]),
    Command(
        'db', 'downgrade', downgrade, [argument('revision', nargs='?', help='any revision; it is refused')]
    ),
    Command(
        'db',
        'purge',
        purge,
        [argument('age_in_days', type=days, help='keep operations that ended within this number of days')],
    ),
)
