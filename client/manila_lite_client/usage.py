# SPDX-License-Identifier: Apache-2.0
"""How full shares are, and were: ``openstack share usage list``, ``show`` and ``history``."""

import argparse
import itertools
import urllib.parse
from collections.abc import Iterable
from typing import Any, ClassVar

from openstack import resource
from osc_lib.cli import format_columns
from osc_lib.command import command
from osc_lib.utils import get_item_properties

from manila_lite_client import arguments, commands, operations
from manila_lite_client.arguments import Table, WithArguments

_GIB = 1 << 30


class ShareUsage(resource.Resource):
    """What a share takes. The fields are those of the API."""

    resource_key = resources_key = 'share_usage'
    base_path = '/share-usage'
    allow_fetch = allow_list = True

    _query_mapping = resource.QueryParameters('all_projects', 'host', 'min_percent', 'project_id')

    share_id = resource.Body('share_id', alternate_id=True)
    project_id = resource.Body('project_id')
    size = resource.Body('size', type=int)
    used_bytes = resource.Body('used_bytes', type=int)
    limit_bytes = resource.Body('limit_bytes', type=int)
    snapshot_bytes = resource.Body('snapshot_bytes', type=int)
    files = resource.Body('files', type=int)
    percent_full = resource.Body('percent_full', type=float)
    full_in_days = resource.Body('full_in_days', type=float)
    measured_at = resource.Body('measured_at')
    #: For administrators only.
    host = resource.Body('host')


class Point(resource.Resource):
    """What a share, or what all shares of a project or of a pool took at a moment."""

    resources_key = 'history'
    base_path = '/%(of)s/%(owner)s/history'
    allow_list = True

    _query_mapping = resource.QueryParameters('resolution', include_pagination_defaults=False)

    of = resource.URI('of')
    owner = resource.URI('owner')
    measured_at = resource.Body('measured_at')
    shares = resource.Body('shares', type=int)
    used_bytes = resource.Body('used_bytes', type=int)
    limit_bytes = resource.Body('limit_bytes', type=int)
    snapshot_bytes = resource.Body('snapshot_bytes', type=int)


class Size(format_columns.DictColumn):
    """A number of bytes."""

    def human_readable(self) -> str:
        """Return it in GiB; empty if it is not known."""
        return '' if self._value is None else f'{self.machine_readable() / _GIB:.2f} GiB'

    def machine_readable(self) -> Any:
        """Return the number."""
        return self._value


_FORMS = dict.fromkeys(('used_bytes', 'limit_bytes', 'snapshot_bytes'), Size)
_LIST = {
    'Share ID': 'share_id',
    'Name': 'name',
    'Percent Full': 'percent_full',
    'Used': 'used_bytes',
    'Limit': 'limit_bytes',
}
_LONG = {
    'Snapshots': 'snapshot_bytes',
    'Files': 'files',
    'Measured At': 'measured_at',
    'Project ID': 'project_id',
}
_INSIDE = {'Host': 'host'}
_SHOWN = (
    'share_id',
    'name',
    'project_id',
    'size',
    'percent_full',
    'full_in_days',
    'used_bytes',
    'limit_bytes',
    'snapshot_bytes',
    'files',
    'measured_at',
)


class ListUsage(WithArguments, command.Lister):
    """List how full shares are, the fullest first."""

    ARGUMENTS: ClassVar[Table] = {
        '--min-percent': {
            'metavar': '<percent>',
            'type': int,
            'help': 'Only shares that are at least so full.',
        },
        '--all-projects': {'action': 'store_true', 'help': 'List the shares of all projects (admin only).'},
        '--project': {'metavar': '<project-id>', 'help': 'Only shares of this project (admin only).'},
        '--host': {
            'metavar': '<host@backend#pool>',
            'help': 'Only shares of this backend or pool (admin only).',
        },
        '--limit': {
            'metavar': '<count>',
            'type': arguments.count,
            'help': 'Maximum number of shares to show.',
        },
        '--long': {'action': 'store_true', 'help': 'Show more fields.'},
    }

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], Iterable[tuple[Any, ...]]]:
        """Return the columns and the rows."""
        wanted = {
            'min_percent': parsed_args.min_percent,
            'host': parsed_args.host,
            'project_id': parsed_args.project,
            'all_projects': bool(parsed_args.all_projects or parsed_args.project) or None,
            'limit': parsed_args.limit,
        }
        asked = {name: value for name, value in wanted.items() if value is not None}
        rows = list(itertools.islice(ShareUsage.list(commands.proxy(self), **asked), parsed_args.limit))
        shown = _LIST | (_LONG if parsed_args.long else {})
        if parsed_args.long and any(row.host is not None for row in rows):
            shown |= _INSIDE
        return tuple(shown), [
            get_item_properties(row, tuple(shown.values()), formatters=_FORMS) for row in rows
        ]


class ShowUsage(WithArguments, command.ShowOne):
    """Show how full a share is, and in how many days it would be full if it goes on like this."""

    ARGUMENTS: ClassVar[Table] = {'share': {'metavar': '<share>', 'help': 'ID or name of the share.'}}

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """Return the fields and their values."""
        service = commands.proxy(self)
        share_id = operations.resource_named(service, parsed_args.share)
        row = ShareUsage.new(id=share_id).fetch(service)
        shown = (*_SHOWN, *(() if row.host is None else ('host',)))
        return shown, get_item_properties(row, shown, formatters=_FORMS)


_POINT = {
    'Measured At': 'measured_at',
    'Used': 'used_bytes',
    'Limit': 'limit_bytes',
    'Snapshots': 'snapshot_bytes',
}
_SUM = {**_POINT, 'Shares': 'shares'}


class ListUsageHistory(WithArguments, command.Lister):
    """List how full a share was, or all shares of a project or of a pool together, the oldest point first."""

    ARGUMENTS: ClassVar[Table] = {
        '--resolution': {
            'choices': ('minutes', 'hours', 'days'),
            'default': 'hours',
            'help': 'A point for every five minutes of a day, every hour of a month (the default), or every day of two years.',
        }
    }

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser: one of three is asked for."""
        parser = super().get_parser(prog_name)
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument('share', metavar='<share>', nargs='?', help='ID or name of the share.')
        whose.add_argument('--project', metavar='<project-id>', help='All shares of this project.')
        whose.add_argument(
            '--pool', metavar='<host@backend#pool>', help='All shares of this pool (admin only).'
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], Iterable[tuple[Any, ...]]]:
        """Return the columns and the rows."""
        service = commands.proxy(self)
        if parsed_args.share is not None:
            of, owner = 'share-usage', operations.resource_named(service, parsed_args.share)
        else:
            of = 'pool-usage' if parsed_args.project is None else 'project-usage'
            owner = parsed_args.project or parsed_args.pool
        # The "#" of a pool would begin what is no part of a path.
        where: dict[str, Any] = {'of': of, 'owner': urllib.parse.quote(owner, safe='')}
        shown = _POINT if of == 'share-usage' else _SUM
        rows = Point.list(service, paginated=False, resolution=parsed_args.resolution, **where)
        return tuple(shown), [
            get_item_properties(row, tuple(shown.values()), formatters=_FORMS) for row in rows
        ]
