# SPDX-License-Identifier: Apache-2.0
"""The commands: ``openstack share operation list``, ``show`` and ``wait``."""

import argparse
import itertools
import sys
from collections.abc import Iterable
from typing import Any, ClassVar

from osc_lib.cli import format_columns
from osc_lib.command import command
from osc_lib.utils import get_item_properties

from manila_lite_client import arguments, display, operations, waiting
from manila_lite_client.arguments import Table, WithArguments
from manila_lite_client.operations import Operation

#: Where the version of the API is in the settings of a cloud.
_VERSIONS = {'share_api_version'}


class Percent(format_columns.DictColumn):
    """The percentage of a progress."""

    def human_readable(self) -> str:
        """Return it with its sign; empty if it is not known."""
        percent = self.machine_readable()
        return '' if percent is None else f'{percent} %'

    def machine_readable(self) -> Any:
        """Return the number."""
        return (self._value or {}).get('percent')


class Figures(format_columns.DictColumn):
    """The figures of a progress that are known."""

    def human_readable(self) -> str:
        """Return them as ``name='figure'``."""
        self._value = {name: figure for name, figure in (self._value or {}).items() if figure is not None}
        return super().human_readable()


#: Columns of a list and the fields that they show: always, with ``--long``, and with ``--long`` for administrators.
_LIST = {
    'ID': 'id',
    'Kind': 'kind',
    'Resource ID': 'resource_id',
    'State': 'state',
    'Phase': 'phase',
    'Progress': 'progress',
}
_LONG = {
    'Resource Type': 'resource_type',
    'Step': 'step',
    'Steps': 'steps',
    'Attempts': 'attempts',
    'Created At': 'created_at',
    'Finished At': 'finished_at',
    'Error': 'error',
}
_INSIDE = {'Project ID': 'project_id', 'Host': 'host'}

#: Fields of one operation, in the order of the API.
_SHOWN = (
    'id',
    'kind',
    'resource_type',
    'resource_id',
    'project_id',
    'user_id',
    'request_id',
    'state',
    'running',
    'undoing',
    'phase',
    'step',
    'steps',
    'attempts',
    'progress',
    'error',
    'created_at',
    'updated_at',
    'next_run_at',
    'finished_at',
)
#: Those of administrators.
_SHOWN_INSIDE = ('host', 'report')


class ListOperations(WithArguments, command.Lister):
    """List operations, the newest first."""

    ARGUMENTS: ClassVar[Table] = {
        '--state': {'choices': operations.STATES, 'help': 'Only operations in this state.'},
        '--kind': {'metavar': '<kind>', 'help': 'Only operations of this kind, for instance share.create.'},
        '--resource': {
            'metavar': '<resource>',
            'help': 'Only operations of this resource. ID of any resource, or name of a share.',
        },
        '--resource-type': {'metavar': '<type>', 'help': 'Only operations of this type of resource.'},
        '--request-id': {'metavar': '<id>', 'help': 'Only the operations that this request began.'},
        '--all-projects': {
            'action': 'store_true',
            'help': 'List the operations of all projects (admin only).',
        },
        '--project': {'metavar': '<project-id>', 'help': 'Only operations of this project (admin only).'},
        '--host': {'metavar': '<host@backend>', 'help': 'Only operations of this backend (admin only).'},
        '--sort': {
            'metavar': '<key>[:<direction>]',
            'type': arguments.sort,
            'help': 'Sort by this field, asc or desc (default: created_at:desc).',
        },
        '--limit': {
            'metavar': '<count>',
            'type': arguments.count,
            'help': 'Maximum number of operations to show.',
        },
        '--marker': {
            'metavar': '<operation-id>',
            'help': 'Only operations that come after this one in the list.',
        },
        '--long': {'action': 'store_true', 'help': 'Show more fields.'},
    }

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], Iterable[tuple[Any, ...]]]:
        """Return the columns and the rows."""
        service = proxy(self)
        rows = list(
            itertools.islice(Operation.list(service, **_filters(service, parsed_args)), parsed_args.limit)
        )
        shown = _LIST | (_LONG if parsed_args.long else {})
        if parsed_args.long and any(row.host is not None for row in rows):
            shown |= _INSIDE
        return tuple(shown), [
            get_item_properties(row, tuple(shown.values()), formatters={'progress': Percent}) for row in rows
        ]


class ShowOperation(WithArguments, command.ShowOne):
    """Show an operation. With --wait, show its progress until it has ended, and fail if it failed."""

    ARGUMENTS: ClassVar[Table] = {
        'operation': {'metavar': '<operation-id>', 'help': 'ID of the operation.'},
        '--wait': {
            'action': 'store_true',
            'help': 'Wait until the operation has ended. Its progress is shown on standard error: as a bar at a '
            'terminal, else as a line every few seconds.',
        },
    }

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """Return the fields and their values."""
        service = proxy(self)
        op = operations.get(service, parsed_args.operation)
        if parsed_args.wait:
            op = waiting.until_ended(service, op, display.on(sys.stderr))
            waiting.must_be_done(op)
        shown = (*_SHOWN, *(name for name in _SHOWN_INSIDE if getattr(op, name) is not None))
        return shown, get_item_properties(
            op, shown, formatters={'progress': Figures, 'report': format_columns.DictColumn}
        )


class WaitForOperations(WithArguments):
    """Show the progress of an operation, or of all open operations of a resource, until they have ended. Fail if one failed."""

    ARGUMENTS: ClassVar[Table] = {
        'what': {
            'metavar': '<operation-or-resource>',
            'help': 'ID of an operation or of a resource, or name of a share. If nothing of the resource is open, '
            'the operation that was begun last says whether the command fails.',
        }
    }

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Wait for each, the oldest first."""
        service = proxy(self)
        ended = [
            waiting.until_ended(service, op, display.on(sys.stdout))
            for op in operations.find(service, parsed_args.what)
        ]
        waiting.must_be_done(*ended)


def proxy(asking: command.Command) -> Any:
    """Return openstacksdk's proxy of the API, which keystoneauth finds in the catalog or as configured.

    The openstack command always has a microversion in the version of the API, that of --os-share-api-version; openstacksdk
    refuses to choose between that one and another one in clouds.yaml. Our calls are there at every microversion.
    """
    connection = asking.app.client_manager.sdk_connection
    settings = connection.config.config
    if settings.get('shared_file_system_default_microversion'):
        settings.update(dict.fromkeys(settings.keys() & _VERSIONS, '2'))
    return connection.shared_file_system


def _filters(service: Any, asked: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the request."""
    key, direction = asked.sort or (None, None)
    as_named = ('state', 'kind', 'resource_type', 'request_id', 'host', 'marker', 'limit')
    wanted = {
        **{name: getattr(asked, name) for name in as_named},
        'project_id': asked.project,
        'sort_key': key,
        'sort_dir': direction,
        'resource_id': asked.resource and operations.resource_named(service, asked.resource),
        'all_projects': bool(asked.all_projects or asked.project) or None,
    }
    return {name: value for name, value in wanted.items() if value is not None}
