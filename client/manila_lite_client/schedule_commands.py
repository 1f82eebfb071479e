# SPDX-License-Identifier: Apache-2.0
"""The commands ``openstack share schedule``: create, list, show, set, unset, delete and preview."""

import argparse
import itertools
from collections.abc import Iterable
from typing import Any, ClassVar

from osc_lib.cli import format_columns, parseractions
from osc_lib.command import command
from osc_lib.utils import get_item_properties

from manila_lite_client import commands, operations, schedules
from manila_lite_client.arguments import Table, WithArguments
from manila_lite_client.schedules import Schedule

#: Columns of a list and the fields that they show: always, and with ``--long``.
_LIST = {
    'ID': 'id',
    'Name': 'name',
    'Action': 'action',
    'Cron': 'cron',
    'Time Zone': 'time_zone',
    'Next Run At': 'next_run_at',
    'Last Good At': 'last_good_at',
    'Problem': 'problem',
}
_LONG = {
    'Keep': 'keep',
    'Is Paused': 'is_paused',
    'Failing Since': 'failing_since',
    'Project ID': 'project_id',
}
_FORMATS = {
    'keep': format_columns.DictColumn,
    'share_metadata': format_columns.DictColumn,
    'share_ids': format_columns.ListColumn,
}
#: Fields of one schedule.
_SHOWN = (
    *('id', 'name', 'action', 'backup_type', 'cron', 'time_zone', 'jitter', 'missed', 'keep', 'name_prefix'),
    *(
        'share_ids',
        'share_metadata',
        'share_type_id',
        'is_paused',
        'next_run_at',
        'last_run_at',
        'last_good_at',
    ),
    *('failing_since', 'problem', 'all_projects', 'project_id', 'user_id', 'created_at', 'updated_at'),
)
_Shown = tuple[tuple[str, ...], tuple[Any, ...]]


#: Options that create and set have in common.
_VALUES: Table = {
    '--time-zone': {'metavar': '<zone>', 'help': 'Time zone of the times, such as Europe/Berlin.'},
    '--keep': {
        'metavar': '<period=count>',
        'action': parseractions.KeyValueAction,
        'help': 'Keep the newest copy of each of so many last, hour, day, week, month or year (repeat for several). Without '
        'it, all are kept.',
    },
    '--share': {
        'metavar': '<share>',
        'action': 'append',
        'help': 'Name or ID of a share (repeat for several).',
    },
    '--share-metadata': {
        'metavar': '<key=value>',
        'action': parseractions.KeyValueAction,
        'help': 'Only shares with this metadata (repeat for several).',
    },
    '--share-type': {'metavar': '<id>', 'help': 'Only shares of the type with this ID.'},
    '--backup-type': {'metavar': '<type>', 'help': 'Type of the backups.'},
    '--name-prefix': {'metavar': '<prefix>', 'help': 'Beginning of the names of what is made.'},
    '--jitter': {'metavar': '<seconds>', 'type': int, 'help': 'Run up to so many seconds later.'},
    '--missed': {
        'choices': ('once', 'skip'),
        'help': 'Make up for missed times once (the default), or skip them.',
    },
}


def _values(service: Any, asked: argparse.Namespace) -> dict[str, Any]:
    """Return the values that were given, as the API takes them."""
    wanted = {
        'time_zone': asked.time_zone,
        'keep': None
        if asked.keep is None
        else {period: _count(count) for period, count in asked.keep.items()},
        'share_ids': asked.share and [operations.resource_named(service, share) for share in asked.share],
        'share_metadata': asked.share_metadata,
        'share_type_id': asked.share_type,
        'backup_type': asked.backup_type,
        'name_prefix': asked.name_prefix,
        'jitter': asked.jitter,
        'missed': asked.missed,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _count(text: str) -> Any:
    return int(text) if text.isdecimal() else text  # the API says what is wrong with it


def _action(asked: argparse.Namespace) -> str:
    if asked.resync_replicas:
        return 'replica_resync'
    return 'share_backup' if asked.backup else 'snapshot'


def _shown(schedule: Any) -> _Shown:
    return _SHOWN, get_item_properties(schedule, _SHOWN, formatters=_FORMATS)


class CreateSchedule(WithArguments, command.ShowOne):
    """Create a schedule of snapshots or backups. Without options for shares, it is for all shares of the project."""

    ARGUMENTS: ClassVar[Table] = {
        'name': {'metavar': '<name>', 'help': 'Name of the schedule.'},
        '--cron': {
            'metavar': '<times>',
            'required': True,
            'help': 'Times, as five fields of cron: minute, hour, day of month, month, day of week.',
        },
        '--backup': {'action': 'store_true', 'help': 'Make backups, not snapshots.'},
        '--resync-replicas': {
            'action': 'store_true',
            'help': 'Bring replicas up to date, and make no snapshots (admin only).',
        },
        '--paused': {'action': 'store_true', 'help': 'Do not run it yet.'},
        '--all-projects': {'action': 'store_true', 'help': 'For the shares of all projects (admin only).'},
        **_VALUES,
    }

    def take_action(self, parsed_args: argparse.Namespace) -> _Shown:
        """Return the fields and their values."""
        service = commands.proxy(self)
        body = {
            'name': parsed_args.name,
            'cron': parsed_args.cron,
            'action': _action(parsed_args),
            'paused': parsed_args.paused,
            **({'all_projects': True} if parsed_args.all_projects else {}),
            **_values(service, parsed_args),
        }
        made = schedules.send(service, 'POST', '', body)
        return _shown(Schedule.existing(**made['schedule']))


class ListSchedules(WithArguments, command.Lister):
    """List schedules, the newest first."""

    ARGUMENTS: ClassVar[Table] = {
        '--name': {'metavar': '<name>', 'help': 'Only schedules with this name.'},
        '--all-projects': {
            'action': 'store_true',
            'help': 'List the schedules of all projects (admin only).',
        },
        '--limit': {'metavar': '<count>', 'type': int, 'help': 'Maximum number of schedules to show.'},
        '--long': {'action': 'store_true', 'help': 'Show more fields.'},
    }

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], Iterable[tuple[Any, ...]]]:
        """Return the columns and the rows."""
        query = {'name': parsed_args.name, 'all_projects': parsed_args.all_projects or None}
        given = {name: value for name, value in query.items() if value is not None}
        rows = itertools.islice(Schedule.list(commands.proxy(self), **given), parsed_args.limit)
        shown = _LIST | (_LONG if parsed_args.long else {})
        return tuple(shown), [
            get_item_properties(row, tuple(shown.values()), formatters=_FORMATS) for row in rows
        ]


class _OfOne(WithArguments):
    """A command about one schedule."""

    ARGUMENTS: ClassVar[Table] = {
        'schedule': {'metavar': '<schedule>', 'help': 'Name or ID of the schedule.'}
    }


class ShowSchedule(_OfOne, command.ShowOne):
    """Show a schedule."""

    def take_action(self, parsed_args: argparse.Namespace) -> _Shown:
        """Return the fields and their values."""
        return _shown(schedules.find(commands.proxy(self), parsed_args.schedule))


class SetSchedule(_OfOne):
    """Change, pause or resume a schedule. --keep, --share and --share-metadata replace what was there."""

    ARGUMENTS: ClassVar[Table] = {
        **_OfOne.ARGUMENTS,
        '--name': {'metavar': '<name>', 'help': 'New name.'},
        '--cron': {'metavar': '<times>', 'help': 'New times, as five fields of cron.'},
        **_VALUES,
    }

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser."""
        parser = super().get_parser(prog_name)
        paused = parser.add_mutually_exclusive_group()
        paused.add_argument(
            '--pause', dest='paused', action='store_true', default=None, help='Do not run it.'
        )
        paused.add_argument('--resume', dest='paused', action='store_false', help='Run it again.')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Send what was given."""
        service = commands.proxy(self)
        schedule = schedules.find(service, parsed_args.schedule)
        own = {name: getattr(parsed_args, name) for name in ('name', 'cron', 'paused')}
        given = {name: value for name, value in own.items() if value is not None}
        schedules.send(service, 'PUT', f'/{schedule.id}', given | _values(service, parsed_args))


class UnsetSchedule(_OfOne):
    """Take values out of a schedule."""

    ARGUMENTS: ClassVar[Table] = dict(_OfOne.ARGUMENTS) | {
        option: {'dest': 'fields', 'action': 'append_const', 'const': field, 'help': f'Take out {text}.'}
        for option, field, text in (
            ('--name', 'name', 'its name'),
            ('--keep', 'keep', 'what it keeps: all is kept then'),
            ('--share', 'share_ids', 'the list of shares'),
            ('--share-metadata', 'share_metadata', 'the metadata of shares'),
            ('--share-type', 'share_type_id', 'the type of shares'),
            ('--backup-type', 'backup_type', 'the type of backups'),
            ('--name-prefix', 'name_prefix', 'the beginning of names'),
        )
    }

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Send null for each."""
        service = commands.proxy(self)
        schedule = schedules.find(service, parsed_args.schedule)
        schedules.send(service, 'PUT', f'/{schedule.id}', dict.fromkeys(parsed_args.fields or ()))


class DeleteSchedule(_OfOne):
    """Delete a schedule. The snapshots and backups that it made stay."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Delete it."""
        service = commands.proxy(self)
        schedules.find(service, parsed_args.schedule).delete(service)


class PreviewSchedule(_OfOne, command.ShowOne):
    """Show the next five times of a schedule, and the times of all that it would keep if it had always run (UTC)."""

    def take_action(self, parsed_args: argparse.Namespace) -> _Shown:
        """Return both."""
        service = commands.proxy(self)
        found = schedules.preview(service, schedules.find(service, parsed_args.schedule).id)
        return tuple(found), tuple(format_columns.ListColumn(times) for times in found.values())
