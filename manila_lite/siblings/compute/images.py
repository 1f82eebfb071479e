# SPDX-License-Identifier: Apache-2.0
"""Images as a project sees them: the operator's, and those made of its own servers. Their names are their ids."""

import dataclasses
from typing import Any

from manila_lite import engine, errors
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Connection
from manila_lite.siblings.compute.db import store

#: Kind and topic of the operation that deletes an image; the topic is that of ``actions``.
KIND, TOPIC = 'image.delete', 'compute'


@dataclasses.dataclass(frozen=True)
class Image:
    """The attributes of an image that are shown; ``status`` and ``progress`` as in Nova."""

    name: str
    status: str = 'ACTIVE'
    created: str | None = None
    updated: str | None = None
    progress: int = 100
    public: bool = True


def _own(row: Any) -> Image:
    created, updated = (
        None if when is None else when.strftime('%Y-%m-%dT%H:%M:%SZ')
        for when in (row.created_at, row.updated_at or row.created_at)
    )
    status, progress = ('ACTIVE', 100) if row.ready else ('SAVING', 0)
    return Image(row.name, status, created, updated, progress, public=False)


def everything(ctx: RequestContext) -> list[Image]:
    """Return the images that the caller's project sees, by name. Of two with one name it sees its own."""
    with ctx.db.reader() as conn:
        seen = {name: Image(name) for name in store.public_images(conn)}
        seen |= {row.name: _own(row) for row in store.images(conn, ctx.project_id or '')}
    return [seen[name] for name in sorted(seen)]


def get(ctx: RequestContext, name: str) -> Image:
    """Return an image that the caller's project sees. :raises errors.NotFound: there is none."""
    image = next((one for one in everything(ctx) if one.name == name), None)
    if image is None:
        raise errors.NotFound.of('image', name)
    return image


def reserve(conn: Connection, ctx: RequestContext, row: Any, name: str) -> str:
    """Reserve a name for an image of a server, for the server's project; return the image's id.

    :raises errors.Exists: an image that the project sees has the name.
    :raises errors.OverQuota: the project has too many images.
    """
    if name in store.public_images(conn):
        raise errors.Exists(f'There is an image {name} of the operator already.', code='image_exists')
    image_id = store.reserve_image(conn, row, name)
    most = ctx.conf.compute.max_images
    if len(store.images(conn, row.project_id)) > most:
        raise errors.OverQuota(f'The project has {most} images, which is the maximum.')
    return image_id


def delete(ctx: RequestContext, name: str) -> None:
    """Begin to delete an image that was made of a server of the caller's project.

    :raises errors.NotFound: there is no such image. :raises errors.Forbidden: it is the operator's.
    :raises errors.Conflict: it is being made.
    """
    image = get(ctx, name)
    if image.public:
        raise errors.Forbidden(
            f'Image {name} belongs to the operator and is available to all projects.', code='image_is_public'
        )
    with ctx.db.writer() as conn:
        row = next((row for row in store.images(conn, ctx.project_id or '') if row.name == name), None)
        if row is None:
            raise errors.NotFound.of('image', name)
        if not row.ready and store.with_open_operation(conn, (row.server_id,)):
            raise errors.Conflict(f'Image {name} is being created.', code='wrong_state')
        engine.begin_once(
            conn, ctx, KIND, 'image', row.id, topic=TOPIC, host=row.host, unique_key=f'image:{row.id}'
        )
