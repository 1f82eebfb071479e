# SPDX-License-Identifier: Apache-2.0
"""The calls of images, as data. Nova has them up to 2.35; there is no image service here, so all versions have them."""

from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import Always, Call, Field, Many, One
from manila_lite.api.framework.handlers import act, path
from manila_lite.siblings.compute import calls, images

_BRIEF_IMAGE = (Field('id', shapes.ID, read='name'), Field('name', shapes.ID))
_IMAGE = (
    *_BRIEF_IMAGE,
    Field('status', shapes.ID),
    Field('created', shapes.NULL_STRING),
    Field('updated', shapes.NULL_STRING),
    Field('progress', shapes.COUNT),
    Field('minDisk', shapes.COUNT, read=Always(0)),
    Field('minRam', shapes.COUNT, read=Always(0)),
    Field('metadata', {'type': 'object'}, read=Always({})),
    # Not Nova's.
    Field('public', shapes.BOOLEAN),
)
_IMAGE_RULE = 'os_compute_api:images:%s'
_LIST_IMAGES = act('Return the images that the project sees.', images.everything)

IMAGES = [
    Call(
        'GET',
        '/images',
        _LIST_IMAGES,
        _IMAGE_RULE % 'index',
        view=Many(calls.view('image', 'images', _BRIEF_IMAGE)),
    ),
    Call(
        'GET',
        '/images/detail',
        _LIST_IMAGES,
        _IMAGE_RULE % 'index',
        view=Many(calls.view('image', 'images', _IMAGE)),
    ),
    Call(
        'GET',
        '/images/{image_id}',
        act('Return an image.', images.get, path('image_id')),
        _IMAGE_RULE % 'show',
        view=One(calls.view('image', 'images', _IMAGE)),
    ),
    Call(
        'DELETE',
        '/images/{image_id}',
        act('Delete an image.', images.delete, path('image_id')),
        _IMAGE_RULE % 'delete',
        ok=204,
    ),
]
