# SPDX-License-Identifier: Apache-2.0
"""The extra specs that the product itself reads: who sees them, and which values they may have.

Every other extra spec is for drivers and the scheduler's capabilities, and is taken as it comes.
"""

import dataclasses
import re
from collections.abc import Callable, Mapping

from manila_lite import errors, extra_specs

DHSS = 'driver_handles_share_servers'
SNAPSHOT_SUPPORT = 'snapshot_support'
MIN_SIZE = 'provisioning:min_share_size'
MAX_SIZE = 'provisioning:max_share_size'
MAX_EXTEND_SIZE = 'provisioning:max_share_extend_size'

_KEY = re.compile(r'[A-Za-z0-9_.:-]{1,255}')
_PREFIX = re.compile(r'[A-Za-z0-9_-]*')
_LONGEST = 1023


@dataclasses.dataclass(frozen=True)
class Known:
    """``read`` turns the text sent into the text kept; a ValueError says why it cannot be.

    ``visible``: users see it too. ``unset``: what users are told where the type does not say.
    """

    read: Callable[[str], str]
    visible: bool = True
    unset: str | None = None


def _boolean(text: str) -> str:
    try:
        extra_specs.is_true(text, strict=True)
    except ValueError:
        raise ValueError(f'must be True or False, not {text!r}') from None
    return text.strip()


def _zones(text: str) -> str:
    names = [name.strip() for name in text.split(',')]
    if not all(names):
        raise ValueError(f'must be names of zones separated by commas, not {text!r}')
    return ','.join(dict.fromkeys(names))


def _size(text: str) -> str:
    if not re.fullmatch(r'[0-9]{1,10}', text.strip(), re.ASCII) or not 0 < int(text) < 2**31:
        raise ValueError(f'must be a size in GiB, at least 1, not {text!r}')
    return str(int(text))


def _one_of(*values: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in values:
            raise ValueError(f'must be one of {", ".join(values)}, not {text!r}')
        return text
    return read


def _prefix(text: str) -> str:
    if not _PREFIX.fullmatch(text):
        raise ValueError(f'must be letters, digits, _ and -, not {text!r}')
    return text


def _name(text: str) -> str:
    if not 0 < len(text.strip()) <= 255:
        raise ValueError('must be a name of at most 255 characters')
    return text.strip()


_ABILITY = Known(_boolean, unset='False')

KNOWN: dict[str, Known] = {
    DHSS: Known(_boolean),
    SNAPSHOT_SUPPORT: _ABILITY,
    'create_share_from_snapshot_support': _ABILITY,
    'revert_to_snapshot_support': _ABILITY,
    'mount_snapshot_support': _ABILITY,
    'mount_point_name_support': Known(_boolean),
    'snapshot_inherit_share_access_support': Known(_boolean),
    # What servers of the type's shares must be able to do: matched as any capability that backends report.
    'share_server_multiple_subnet_support': Known(_boolean, visible=False),
    'network_allocation_update_support': Known(_boolean, visible=False),
    'security_service_update_support': Known(_boolean, visible=False),
    'replication_type': Known(_one_of('writable', 'readable', 'dr')),
    'encryption_support': Known(_one_of('share', 'share_server')),
    'default_qos_type': Known(_name, visible=False),
    extra_specs.ZONES: Known(_zones),
    MIN_SIZE: Known(_size),
    MAX_SIZE: Known(_size),
    MAX_EXTEND_SIZE: Known(_size),
    'provisioning:mount_point_prefix': Known(_prefix, visible=False),
}

#: Pairs of sizes of which the first may not be larger.
_ORDERED = ((MIN_SIZE, MAX_SIZE), (MIN_SIZE, MAX_EXTEND_SIZE))


def read(specs: Mapping[str, str | bool | float]) -> dict[str, str]:
    """Return the extra specs as they are kept.

    :raises errors.Invalid: a key or a value cannot be accepted.
    """
    return {key: _value(key, text) for key, text in read_texts(specs).items()}


def read_texts(specs: Mapping[str, str | bool | float], noun: str = 'extra_specs') -> dict[str, str]:
    """As ``read``, of specs called ``noun`` of which none is known here."""
    return {_key(key, noun): _text(key, value, noun) for key, value in specs.items()}


def _key(key: str, noun: str) -> str:
    if not _KEY.fullmatch(key):
        raise errors.Invalid(f'{noun}: the key {key!r} must be 1 to 255 letters, digits, _, ., : and -.')
    return key


def _text(key: str, value: str | bool | float, noun: str) -> str:
    text = str(value)
    if not 0 < len(text.strip()) <= _LONGEST:
        raise errors.Invalid(f'{noun}.{key}: must be text of 1 to {_LONGEST} characters.')
    return text


def _value(key: str, text: str) -> str:
    known = KNOWN.get(key)
    try:
        return known.read(text) if known else text
    except ValueError as bad:
        raise errors.Invalid(f'extra_specs.{key}: {bad}.') from None


def check_whole(specs: Mapping[str, str]) -> None:
    """The extra specs of a type, all together, can be met.

    :raises errors.Invalid: the required one is missing, or one contradicts another.
    """
    if DHSS not in specs:
        raise errors.Invalid(f'extra_specs.{DHSS}: missing; a share type says True or False.')
    for small, large in _ORDERED:
        if small in specs and large in specs and int(specs[small]) > int(specs[large]):
            raise errors.Invalid(f'extra_specs.{small}: {specs[small]} GiB is more than {large}, {specs[large]} GiB.')


def required(specs: Mapping[str, str]) -> dict[str, str]:
    """Return the extra specs that every type has."""
    return {DHSS: specs[DHSS]} if DHSS in specs else {}


def visible(specs: Mapping[str, str]) -> dict[str, str]:
    """Return what users see: how shares of the type will behave, and nothing of how that is done."""
    return {key: value for key, value in specs.items() if key in KNOWN and KNOWN[key].visible}


def unset(specs: Mapping[str, str]) -> dict[str, str]:
    """Return the abilities that the type does not mention, and which its shares therefore lack."""
    return {key: known.unset for key, known in KNOWN.items() if known.unset is not None and key not in specs}
