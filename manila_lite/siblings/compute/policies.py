# SPDX-License-Identifier: Apache-2.0
"""Policy rules of servers, with Nova's names, so that its policy files fit."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

_SERVERS = 'os_compute_api:servers:%s'
_IMAGES = 'os_compute_api:images:%s'
_SHARES = 'os_compute_api:os-server-shares:%s'
_ACTION = 'POST /servers/{server_id}/action'

ATTRIBUTES = 'os_compute_api:os-extended-server-attributes'
ALL_TENANTS = _SERVERS % 'index:get_all_tenants'
#: Not in Nova, whose code asks for an administrator.
SHARE_PLACES = _SHARES % 'places'

RULES = [
    rule(_SERVERS % 'index', READER, 'List servers.', 'GET /servers'),
    rule(_SERVERS % 'detail', READER, 'List servers with details.', 'GET /servers/detail'),
    rule(ALL_TENANTS, ADMIN, 'List the servers of all projects.', 'GET /servers'),
    rule(_SERVERS % 'show', READER, 'Show a server.', 'GET /servers/{server_id}'),
    rule(ATTRIBUTES, ADMIN, 'Show the host of a server.', 'GET /servers/{server_id}'),
    rule(
        'os_compute_api:ips:index', READER, 'List the addresses of a server.', 'GET /servers/{server_id}/ips'
    ),
    rule(_SERVERS % 'create', MEMBER, 'Create a server.', 'POST /servers'),
    rule(_SERVERS % 'delete', MEMBER, 'Delete a server.', 'DELETE /servers/{server_id}'),
    *(
        rule(_SERVERS % name, MEMBER, text, _ACTION)
        for name, text in (
            ('start', 'Start a server.'),
            ('stop', 'Stop a server.'),
            ('reboot', 'Reboot a server.'),
            ('rebuild', 'Rebuild the disk of a server.'),
            ('resize', 'Resize a server.'),
            ('create_image', 'Create an image of the disk of a server.'),
        )
    ),
    rule(
        _IMAGES % 'index',
        READER,
        'List images: those of the operator, and those made of servers.',
        'GET /images',
        'GET /images/detail',
    ),
    rule(_IMAGES % 'show', READER, 'Show an image.', 'GET /images/{image_id}'),
    rule(
        _IMAGES % 'delete', MEMBER, 'Delete an image that was made of a server.', 'DELETE /images/{image_id}'
    ),
    rule('os_compute_api:os-console-output', MEMBER, 'Read its console.', _ACTION),
    rule('os_compute_api:os-suspend-server:suspend', MEMBER, 'Suspend a server.', _ACTION),
    rule('os_compute_api:os-suspend-server:resume', MEMBER, 'Resume a server.', _ACTION),
    rule('os_compute_api:os-shelve:shelve', MEMBER, 'Shelve a server: refused.', _ACTION),
    rule('os_compute_api:os-migrate-server:migrate', ADMIN, 'Migrate a server: refused.', _ACTION),
    rule(
        'os_compute_api:os-migrate-server:migrate_live',
        ADMIN,
        'Migrate a running server. Always refused.',
        _ACTION,
    ),
    rule('os_compute_api:os-evacuate', ADMIN, 'Evacuate a server: refused.', _ACTION),
    rule(
        'os_compute_api:os-instance-actions:list',
        READER,
        'List the actions on a server.',
        'GET /servers/{server_id}/os-instance-actions',
    ),
    rule(_SHARES % 'index', READER, 'List the shares of a server.', 'GET /servers/{server_id}/shares'),
    rule(_SHARES % 'show', READER, 'Show a share of a server.', 'GET /servers/{server_id}/shares/{share_id}'),
    rule(_SHARES % 'create', MEMBER, 'Attach a share to a server.', 'POST /servers/{server_id}/shares'),
    rule(
        _SHARES % 'delete',
        MEMBER,
        'Detach a share from a server.',
        'DELETE /servers/{server_id}/shares/{share_id}',
    ),
    rule(
        SHARE_PLACES,
        ADMIN,
        'Show the export location and the id of an attachment.',
        'GET /servers/{server_id}/shares/{share_id}',
        'POST /servers/{server_id}/shares',
    ),
]
