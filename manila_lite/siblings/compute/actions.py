# SPDX-License-Identifier: Apache-2.0
"""Users' requests about servers: guard, transition, row and wake-up, in one transaction."""

from collections.abc import Callable, Mapping
from typing import Any

from oslo_utils import uuidutils

from manila_lite import engine, errors
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import operations as work
from manila_lite.engine import questions
from manila_lite.siblings.compute import images, networks
from manila_lite.siblings.compute.db import store
from manila_lite.siblings.compute.states import ATTACHMENT, SERVER

TOPIC = 'compute'

#: Verbs refused for a server with shares: its memory is shared with the processes that serve the shares.
BLOCKED = frozenset(
    {'suspend', 'resume', 'rebuild', 'rebuild_on', 'resize', 'resize_on', 'image', 'image_on'}
)
#: Verbs refused while a share is being attached or detached.
_WHOLE = frozenset({'start', 'reboot', 'hard_reboot'})

_DEFAULTS: dict[str, Any] = {
    'memory': 512,
    'vcpus': 1,
    'disk': 0,
    'image': None,
    'kernel': None,
    'initrd': None,
    'cmdline': '',
    'shared_memory': True,
    'metadata': {},
    'user_data': None,
}


def create(ctx: RequestContext, body: Mapping[str, Any]) -> Any:
    """Create a server on the fittest host, and return it; the host builds it.

    :raises errors.Conflict: no host is up, or on the networks; an address is in use, or none is free.
    :raises errors.OverQuota: the project has as many servers as it may have.
    """
    spec = _spec(ctx, body)
    nets = _networks(ctx, body['networks']) if 'networks' in body else []
    with ctx.db.writer() as conn:
        if store.count_servers(conn, ctx.project_id) >= ctx.conf.compute.max_servers:
            raise errors.OverQuota(
                f'The project has {errors.count(ctx.conf.compute.max_servers, "server")}, which is '
                'the maximum.'
            )
        own = {image.name for image in store.images(conn, ctx.project_id)}  # hosts do not report these
        needed = {
            name for name in (spec['image'], spec['kernel'], spec['initrd']) if name and name not in own
        }
        host = store.best_host(
            conn,
            ctx.conf.service_down_time,
            {network.id for network, _ in nets},
            needed,
            shares=spec['shared_memory'],
        )
        if host is None:
            raise errors.Conflict('No host is available for the server.', code='no_valid_host')
        server_id = uuidutils.generate_uuid()
        transitions.create(
            conn,
            SERVER,
            {
                'id': server_id,
                'project_id': ctx.project_id,
                'user_id': ctx.user_id,
                'name': body['name'],
                'host': host,
                'spec': spec,
            },
        )
        if nets:
            nics = [_nic(conn, server_id, *one) for one in nets]
            store.update_server(conn, server_id, spec=spec | {'nics': nics})
        row = store.server(conn, server_id)
        _begin_operation(conn, ctx, row, 'create', {})
    return row


def _networks(ctx: RequestContext, asked: Any) -> networks.Wanted:
    return networks.wanted(
        asked, networks.of_project(networks.load(ctx.conf.compute.networks_file), ctx.project_id)
    )


def _nic(conn: Connection, server_id: str, network: networks.Network, wanted: str | None) -> dict[str, Any]:
    """Reserve an address for the server in this transaction, and return its interface."""
    # A requested address is tried twice: the conflict may be about the MAC address, which is drawn anew.
    for address in (
        network.free(store.taken_addresses(conn, network.id)) if wanted is None else (wanted, wanted)
    ):
        mac = networks.mac()
        if store.take_address(conn, server_id, network.id, address, mac):
            return network.nic(address, mac)
    if wanted is None:
        raise errors.Conflict(f'networks: no address of {network.id} is free.', code='no_free_address')
    raise errors.Conflict(f'networks: {wanted} is in use on {network.id}.', code='address_in_use')


def _spec(ctx: RequestContext, body: Mapping[str, Any]) -> dict[str, Any]:
    spec = {**_DEFAULTS, **{key: value for key, value in body.items() if key in _DEFAULTS}}
    spec['image'] = body.get('imageRef')
    if not spec['image'] and not spec['kernel']:
        raise errors.Invalid('server: needs an imageRef or a kernel to boot from.')
    if spec['initrd'] and not spec['kernel']:
        raise errors.Invalid('server.initrd: needs a kernel.')
    _fits(ctx, spec)
    return spec


def _fits(ctx: RequestContext, spec: Mapping[str, Any]) -> None:
    for key, most in (('memory', ctx.conf.compute.max_memory), ('vcpus', ctx.conf.compute.max_vcpus)):
        if spec[key] > most:
            raise errors.Invalid(f'{key}: {spec[key]} is more than {most}, the most that a server may have.')


def _begin_operation(
    conn: Connection, ctx: RequestContext, row: Any, verb: str, data: Mapping[str, Any]
) -> None:
    store.add_event(conn, row, verb, ctx=ctx)
    engine.begin(
        conn,
        ctx,
        f'server.{verb}',
        'server',
        row.id,
        topic=TOPIC,
        host=row.host,
        mutex_key=row.id,
        data=dict(data),
    )


def begin(
    ctx: RequestContext,
    row: Any,
    verb: str,
    spec: Mapping[str, Any] | None = None,
    also: Callable[[Connection], dict[str, Any]] = lambda conn: {},
    **data: Any,
) -> None:
    """Begin a verb. ``spec``: the server's new spec; ``also``: does more in the transaction, and returns data for the
    operation.

    :raises errors.WrongState: the server's status does not allow the verb.
    :raises errors.Conflict: the attached shares do not allow it.
    """
    with ctx.db.writer() as conn:
        transitions.begin(conn, SERVER, verb, row.id, **({} if spec is None else {'spec': dict(spec)}))
        _check_shares(verb, store.attachments(conn, (row.id,)))
        _begin_operation(conn, ctx, row, verb, data | also(conn))


def _check_shares(verb: str, attached: list[Any]) -> None:
    if attached and verb in BLOCKED:
        raise _has_shares()
    moving = [one.share_id for one in attached if one.status in ('attaching', 'detaching')]
    if moving and verb in _WHOLE:
        raise errors.Conflict(f'Share {moving[0]} is still being attached or detached.', code='wrong_state')


def _has_shares() -> errors.Conflict:
    return errors.Conflict(
        'Shares are attached to the server; detach them before this action.', code='server_has_shares'
    )


def must_have_no_shares(ctx: RequestContext, row: Any) -> None:
    """Refuse a server with attached shares.

    :raises errors.Conflict: shares are attached.
    """
    with ctx.db.reader() as conn:
        if store.attachments(conn, (row.id,)):
            raise _has_shares()


def delete(ctx: RequestContext, row: Any) -> None:
    """Begin to delete the server. Its open operations are dropped, and its attachments are deleted with it."""
    with ctx.db.writer() as conn:
        if row.status == 'deleting':
            return
        transitions.begin(conn, SERVER, 'delete', row.id, fault=None)
        attached = [one.id for one in store.attachments(conn, (row.id,))]
        transitions.begin_many(conn, ATTACHMENT, 'detach', attached)
        for resource_id in (row.id, *attached):
            work.supersede(conn, resource_id, KINDS)
        _begin_operation(conn, ctx, row, 'delete', {})


#: Kinds of operations that are dropped when a server is deleted.
KINDS = tuple(f'server.{verb}' for verb in SERVER.verbs if verb != 'delete') + (
    'attachment.attach',
    'attachment.detach',
)


def _on(row: Any, verb: str) -> str:
    """Return the variant of a verb for a running server, if the server runs."""
    return f'{verb}_on' if row.status == 'active' else verb


def rebuild(ctx: RequestContext, row: Any, image: str | None) -> Any:
    """Begin to rebuild the server's disk from an image, by default the same one; return the server."""
    if not (image or row.spec.get('image')):
        raise errors.Conflict('The server has no disk to rebuild.', code='no_disk')
    begin(ctx, row, _on(row, 'rebuild'), {**row.spec, 'image': image or row.spec['image']})
    with ctx.db.reader() as conn:
        return store.server(conn, row.id)


def resize(ctx: RequestContext, row: Any, sizes: Mapping[str, int]) -> None:
    """Begin to give the server these sizes."""
    if not sizes:
        raise errors.Invalid('resize: needs memory, vcpus or disk.')
    spec = {**row.spec, **sizes}
    _fits(ctx, spec)
    if spec['disk'] < row.spec['disk']:
        raise errors.Invalid(
            f'resize.disk: {spec["disk"]} is less than the {row.spec["disk"]} GiB that the server has.'
        )
    begin(ctx, row, _on(row, 'resize'), spec, before=row.spec)


def create_image(ctx: RequestContext, row: Any, name: str) -> str:
    """Begin to make an image of the server's disk, for its project; return the image's name.

    :raises errors.Exists: an image that the project sees has the name.
    :raises errors.OverQuota: the project has too many images.
    """
    if not row.spec.get('image'):
        raise errors.Conflict('The server has no disk to make an image of.', code='no_disk')
    begin(
        ctx,
        row,
        _on(row, 'image'),
        also=lambda conn: {'image': images.reserve(conn, ctx, row, name)},
        name=name,
    )
    return name


def console(ctx: RequestContext, row: Any, length: int | None) -> str:
    """Return the server's console output, or its last ``length`` lines.

    :raises errors.Unavailable: its host does not answer in time.
    :raises errors.Conflict: the server is being built or deleted.
    """
    if row.status in ('building', 'deleting'):
        raise errors.Conflict(f'The server is {row.status}.', code='wrong_state')
    with ctx.waiting('hosts'):
        operation = questions.ask(
            ctx,
            lambda conn: engine.begin(
                conn,
                ctx,
                'server.console',
                'server',
                row.id,
                topic=TOPIC,
                host=row.host,
                lane=engine.FAST,
                data={'length': length},
            ),
            ctx.conf.compute.console_timeout,
        )
    if operation is None or operation.state != work.DONE:
        raise errors.Unavailable(f'Host {row.host} did not return the console output of the server.')
    return str(operation.data.get('output', ''))
