# SPDX-License-Identifier: Apache-2.0
"""Parsers of values in requests: tags, ids, names of servers, and names of image files. Each raises ValueError."""

import re
from collections.abc import Callable

_TAG = re.compile(r'[A-Za-z0-9-]+')
#: Bytes of a tag in the configuration of a virtiofs device (virtio 1.2, 5.11.4): QEMU refuses to start with more.
_TAG_BYTES = 36
_ID = re.compile(r'[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}')
_FILE = re.compile(r'[A-Za-z0-9_][A-Za-z0-9._+-]{0,254}')


def _matching(form: re.Pattern[str], what: str) -> Callable[[str], str]:
    """Return a parser that matches the whole value: a pattern of JSON schema would accept a line break at the end."""

    def parse(value: str) -> str:
        if not form.fullmatch(value):
            raise ValueError(f'must be {what}')
        return value

    return parse


def tag(value: str) -> str:
    """Return the tag, by which a guest mounts a share over virtiofs."""
    if not _TAG.fullmatch(value):
        raise ValueError('must have letters, digits and dashes only, and at least one')
    if len(value) > _TAG_BYTES:
        raise ValueError(f'has {len(value)} bytes; a virtiofs device takes tags of at most {_TAG_BYTES}')
    return value


def uuid(value: str) -> str:
    """Return the id in lower case and with its four dashes."""
    text = _matching(_ID, 'a UUID')(value).lower().replace('-', '')
    return '-'.join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def name(value: str) -> str:
    """Return the name without spaces around it."""
    if not value.strip() or not value.isprintable():
        raise ValueError('must have visible characters, and no others')
    return value.strip()


file = _matching(_FILE, 'the name of a file: letters, digits, dots, dashes, underscores and plus signs')


def image_name(value: str) -> str:
    """Return the name of an image that is made from a disk."""
    if value.endswith('.qcow2'):
        raise ValueError(
            'is an image of another format: that of a disk is raw, so its name cannot end in .qcow2'
        )
    return file(value)
