# SPDX-License-Identifier: Apache-2.0
"""The compute API as data: a row for every call, as in the share API (``manila_lite/api/v2``). Fields as in Nova."""

from typing import Any

from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import PAGE, Always, Body, Call, Field, Many, One, Plain
from manila_lite.api.framework.handlers import BODY, act, field, optional
from manila_lite.siblings.compute import actions, calls, image_contract, networks, policies, request_values
from manila_lite.siblings.compute.states import SHOWN

#: The microversion that adds shares of servers.
SHARES = '2.97'
_ZONE = 'nova'


def _time(key: str) -> Any:
    return lambda row, req: getattr(row, key).strftime('%Y-%m-%dT%H:%M:%SZ')


def _updated(row: Any, req: Any) -> str:
    time: str = (row.updated_at or row.created_at).strftime('%Y-%m-%dT%H:%M:%SZ')
    return time


def _shown(key: str) -> Any:
    return lambda row, req: getattr(SHOWN[row.status], key)


def _fault(row: Any, req: Any) -> dict[str, Any] | None:
    if row.status != 'error':
        return None
    return {
        'code': 500,
        'message': row.fault or 'The log of the host has more.',
        'created': _updated(row, req),
    }


def _image(row: Any, req: Any) -> Any:
    name = row.spec.get('image') or row.spec.get('kernel')
    return {'id': name, 'links': []} if name else ''


def _flavor(row: Any, req: Any) -> dict[str, Any]:
    spec = row.spec
    return {
        'vcpus': spec['vcpus'],
        'ram': spec['memory'],
        'disk': spec.get('disk', 0),
        'ephemeral': 0,
        'swap': 0,
        'original_name': f'{spec["vcpus"]}x{spec["memory"]}',
        'extra_specs': {},
    }


def _boot(key: str, schema: Any) -> Field:
    return Field(key, schema, read=lambda row, req: row.spec.get(key))


_OBJECT = {'type': 'object'}

SERVER = calls.view(
    'server',
    'servers',
    (
        Field('id', shapes.ID),
        Field('name', shapes.ID),
        Field('status', shapes.ID, read=_shown('status')),
        Field('tenant_id', shapes.ID, read='project_id'),
        Field('user_id', shapes.NULL_STRING),
        Field('created', shapes.ID, read=_time('created_at')),
        Field('updated', shapes.ID, read=_updated),
        Field('image', {'type': ['object', 'string']}, read=_image),
        Field('flavor', _OBJECT, read=_flavor),
        Field('metadata', _OBJECT, read=lambda row, req: row.spec.get('metadata') or {}),
        Field('hostId', shapes.ID, read=lambda row, req: calls.host_id(row)),
        Field('OS-EXT-STS:vm_state', shapes.ID, read=_shown('vm_state')),
        Field('OS-EXT-STS:task_state', shapes.NULL_STRING, read=_shown('task_state')),
        Field('OS-EXT-STS:power_state', shapes.COUNT, read=_shown('power_state')),
        Field('OS-EXT-AZ:availability_zone', shapes.ID, read=Always(_ZONE)),
        Field('OS-EXT-SRV-ATTR:host', shapes.ID, read='host', rule=policies.ATTRIBUTES),
        Field('fault', {'type': ['object', 'null']}, read=_fault),
        Field('addresses', _OBJECT, read=lambda row, req: networks.shown(row.spec.get('nics', ()))),
        Field('accessIPv4', shapes.ID, read=Always('')),
        Field('accessIPv6', shapes.ID, read=Always('')),
        Field('config_drive', shapes.ID, read=Always('True')),
        Field('key_name', shapes.NULL_STRING, read=Always(None)),
        Field('progress', shapes.COUNT, read=Always(0)),
        # Not Nova's.
        _boot('kernel', shapes.NULL_STRING),
        _boot('initrd', shapes.NULL_STRING),
        _boot('shared_memory', shapes.BOOLEAN),
    ),
)
BRIEF = calls.view('server', 'servers', (Field('id', shapes.ID), Field('name', shapes.ID)))
#: What callers see of the servers of a list in one of its forms, by its name as sort key, too.
_SEEN = (*SERVER.fields, Field('created_at', shapes.ID))

_SIZES = (
    Field('memory', {'type': 'integer', 'minimum': 16, 'maximum': 1 << 30}),
    Field('vcpus', {'type': 'integer', 'minimum': 1, 'maximum': 1024}),
    Field('disk', {'type': 'integer', 'minimum': 0, 'maximum': 1 << 20}),
)
_NEW = Body(
    'server',
    (
        Field(
            'name',
            {'type': 'string', 'minLength': 1, 'maxLength': 255},
            required=True,
            parse=request_values.name,
        ),
        *_SIZES,
        Field('imageRef', {'type': 'string', 'maxLength': 255}, parse=request_values.file),
        Field('kernel', {'type': 'string', 'maxLength': 255}, parse=request_values.file),
        Field('initrd', {'type': 'string', 'maxLength': 255}, parse=request_values.file),
        Field('cmdline', {'type': 'string', 'maxLength': 2048, 'pattern': '^[ -~]*$'}),
        Field('shared_memory', shapes.BOOLEAN),
        Field('metadata', shapes.METADATA),
        Field('networks', networks.SCHEMA),
        Field('user_data', {'type': 'string', 'maxLength': 65535, 'pattern': '^[A-Za-z0-9+/=\n]*$'}),
    ),
    strict=True,
)
_LIST = (
    *PAGE,
    Field('name', {'type': 'string'}),
    Field('status', {'type': 'string'}),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag),
)

_SERVER = '/servers/{server_id}'
_RULE = 'os_compute_api:servers:%s'
_NO_BODY = {'type': ['object', 'string', 'null']}


def _action(name: str, call: Any, rule: str, body: Body | None = None, **more: Any) -> Call:
    return Call(
        'POST',
        f'{_SERVER}/action',
        call,
        rule,
        action=name,
        old_action=name,
        ok=more.pop('ok', 202),
        body=body or Body(name, free=_NO_BODY, optional=True, strict=True),
        **more,
    )


def _refused(name: str, rule: str) -> Call:
    return _action(name, calls.refuse, rule, states=((calls.NotOffered, 501),))


_SERVERS = [
    Call(
        'GET',
        '/servers',
        calls.index,
        _RULE % 'index',
        view=Many(BRIEF, paged=True, beside=_SEEN),
        query=_LIST,
    ),
    Call(
        'GET',
        '/servers/detail',
        calls.index,
        _RULE % 'detail',
        view=Many(SERVER, paged=True, beside=_SEEN),
        query=_LIST,
    ),
    Call(
        'POST',
        '/servers',
        act('Create a server, and return it.', actions.create, BODY),
        _RULE % 'create',
        view=One(BRIEF),
        ok=202,
        body=_NEW,
    ),
    Call('GET', _SERVER, calls.show, _RULE % 'show', view=One(SERVER)),
    Call('GET', f'{_SERVER}/ips', calls.ips, 'os_compute_api:ips:index', view=Plain(_OBJECT, 'addresses')),
    Call('DELETE', _SERVER, act('Delete a server.', actions.delete, calls.SERVER), _RULE % 'delete', ok=204),
    _action(
        'os-start',
        act('Start a server.', actions.begin, calls.SERVER, name='start', verb='start'),
        _RULE % 'start',
    ),
    _action(
        'os-stop',
        act('Stop a server.', actions.begin, calls.SERVER, name='stop', verb='stop'),
        _RULE % 'stop',
    ),
    _action(
        'reboot',
        calls.reboot,
        _RULE % 'reboot',
        Body(
            'reboot',
            (Field('type', {'type': 'string'}, required=True, parse=shapes.one_of('soft', 'hard')),),
            strict=True,
        ),
    ),
    _action(
        'suspend',
        act(
            'Suspend a server: save its memory to a file.',
            actions.begin,
            calls.SERVER,
            name='suspend',
            verb='suspend',
        ),
        'os_compute_api:os-suspend-server:suspend',
    ),
    _action(
        'resume',
        act('Resume a suspended server.', actions.begin, calls.SERVER, name='resume', verb='resume'),
        'os_compute_api:os-suspend-server:resume',
    ),
    _action(
        'rebuild',
        act(
            'Rebuild the disk of a server, and return the server.',
            actions.rebuild,
            calls.SERVER,
            optional('imageRef'),
        ),
        _RULE % 'rebuild',
        Body(
            'rebuild',
            (Field('imageRef', {'type': 'string', 'maxLength': 255}, parse=request_values.file),),
            strict=True,
        ),
        view=One(SERVER),
    ),
    _action(
        'resize',
        act('Resize a server.', actions.resize, calls.SERVER, BODY),
        _RULE % 'resize',
        Body('resize', _SIZES, strict=True),
    ),
    _action(
        'createImage',
        act(
            "Make an image of a server's disk, and return the image's name.",
            actions.create_image,
            calls.SERVER,
            field('name'),
        ),
        _RULE % 'create_image',
        Body(
            'createImage',
            (
                Field(
                    'name',
                    {'type': 'string', 'maxLength': 255},
                    required=True,
                    parse=request_values.image_name,
                ),
                Field('metadata', _OBJECT),
            ),
            strict=True,
        ),
        view=Plain(shapes.ID, 'image_id'),
    ),
    _action(
        'os-getConsoleOutput',
        act('Return the console output of a server.', actions.console, calls.SERVER, optional('length')),
        'os_compute_api:os-console-output',
        Body(
            'os-getConsoleOutput',
            (Field('length', {'type': ['integer', 'null', 'string'], 'minimum': -1}, parse=shapes.integer),),
            optional=True,
            strict=True,
        ),
        view=Plain(shapes.ID, 'output'),
        ok=200,
    ),
    _refused('shelve', 'os_compute_api:os-shelve:shelve'),
    _refused('migrate', 'os_compute_api:os-migrate-server:migrate'),
    _refused('os-migrateLive', 'os_compute_api:os-migrate-server:migrate_live'),
    _refused('evacuate', 'os_compute_api:os-evacuate'),
    Call(
        'GET',
        f'{_SERVER}/os-instance-actions',
        calls.events,
        'os_compute_api:os-instance-actions:list',
        view=Many(
            calls.view(
                'instanceAction',
                'instanceActions',
                (
                    Field('action', shapes.ID, read='event'),
                    Field('instance_uuid', shapes.ID, read='server_id'),
                    Field('message', shapes.NULL_STRING),
                    Field('project_id', shapes.ID),
                    Field('user_id', shapes.NULL_STRING),
                    Field('request_id', shapes.NULL_STRING),
                    Field('start_time', shapes.TIME, read='created_at'),
                ),
            )
        ),
    ),
]

_ATTACHED = (
    Field('share_id', shapes.UUID),
    Field('status', shapes.ID),
    Field('tag', shapes.ID),
    # Not Nova's.
    Field('fault', shapes.NULL_STRING),
)
_SHARE = calls.view(
    'share',
    'shares',
    (
        *_ATTACHED,
        Field('uuid', shapes.UUID, read='id', rule=policies.SHARE_PLACES),
        Field('export_location', shapes.ID, rule=policies.SHARE_PLACES),
    ),
)
_SHARE_RULE = 'os_compute_api:os-server-shares:%s'

_SHARES = [
    Call(
        'GET',
        f'{_SERVER}/shares',
        calls.shares,
        _SHARE_RULE % 'index',
        since=SHARES,
        strict=True,
        view=Many(calls.view('share', 'shares', _ATTACHED)),
    ),
    Call(
        'POST',
        f'{_SERVER}/shares',
        calls.attach,
        _SHARE_RULE % 'create',
        since=SHARES,
        ok=201,
        view=One(_SHARE),
        strict=True,
        body=Body(
            'share',
            (
                Field(
                    'share_id', {'type': 'string', 'maxLength': 36}, required=True, parse=request_values.uuid
                ),
                Field('tag', {'type': 'string'}, parse=request_values.tag),
            ),
            strict=True,
        ),
    ),
    Call(
        'GET',
        f'{_SERVER}/shares/{{share_id}}',
        calls.attachment,
        _SHARE_RULE % 'show',
        since=SHARES,
        view=One(_SHARE),
        strict=True,
    ),
    Call(
        'DELETE',
        f'{_SERVER}/shares/{{share_id}}',
        calls.detach,
        _SHARE_RULE % 'delete',
        since=SHARES,
        strict=True,
    ),
]

CALLS = [*_SERVERS, *_SHARES, *image_contract.IMAGES]
