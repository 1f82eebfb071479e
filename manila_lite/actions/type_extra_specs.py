# SPDX-License-Identifier: Apache-2.0
"""The extra specs that manila_lite itself reads: their visibility and their allowed values.

All other extra specs are for drivers and for the scheduler's capabilities, and are accepted unchanged.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping

from manila_lite import errors, extra_specs
from manila_lite.values import usage_settings

DHSS = 'driver_handles_share_servers'
SNAPSHOT_SUPPORT = 'snapshot_support'
MIN_SIZE = 'provisioning:min_share_size'
MAX_SIZE = 'provisioning:max_share_size'
MAX_EXTEND_SIZE = 'provisioning:max_share_extend_size'

#: A key, which stands in paths; clients and proxies take a part of a path away that is ``.`` or ``..``.
_KEY = re.compile(r'(?!\.\.?$)[A-Za-z0-9_.:-]{1,255}')
_PREFIX = re.compile(r'[A-Za-z0-9_-]*')
_LONGEST = 255


@dataclasses.dataclass(frozen=True)
class Known:
    """An extra spec. ``read`` turns the text sent into the text stored; its ValueError says why the text is refused.

    ``visible``: users see the spec, too. ``unset``: the value shown to users where the type has none.
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


_ABILITY = Known(_boolean, unset='False')

KNOWN: dict[str, Known] = {
    DHSS: Known(_boolean),
    SNAPSHOT_SUPPORT: _ABILITY,
    'create_share_from_snapshot_support': _ABILITY,
    'revert_to_snapshot_support': _ABILITY,
    'mount_snapshot_support': _ABILITY,
    'mount_point_name_support': Known(_boolean),
    'snapshot_inherit_share_access_support': _ABILITY,
    # Abilities of the servers of the type's shares: matched as any capability that backends report.
    'share_server_multiple_subnet_support': Known(_boolean, visible=False),
    'network_allocation_update_support': Known(_boolean, visible=False),
    'security_service_update_support': Known(_boolean, visible=False),
    'share_replicas_migration_support': Known(_boolean, visible=False),
    'replication_type': Known(_one_of('writable', 'readable', 'dr')),
    'encryption_support': Known(_one_of('share', 'share_server')),
    'default_qos_type': Known(str.strip, visible=False),
    extra_specs.ZONES: Known(_zones),
    MIN_SIZE: Known(_size),
    MAX_SIZE: Known(_size),
    MAX_EXTEND_SIZE: Known(_size),
    'provisioning:mount_point_prefix': Known(_prefix, visible=False),
    **{key: Known(read) for key, read in usage_settings.READ.items()},
}

#: Pairs of sizes: the first may not exceed the second.
_ORDERED = ((MIN_SIZE, MAX_SIZE), (MIN_SIZE, MAX_EXTEND_SIZE))


def read(specs: Mapping[str, str | bool | float]) -> dict[str, str]:
    """Return the extra specs as they are stored.

    :raises errors.Invalid: a key or a value cannot be accepted.
    """
    return {key: _value(key, text) for key, text in read_texts(specs).items()}


def read_texts(specs: Mapping[str, str | bool | float], field: str = 'extra_specs') -> dict[str, str]:
    """Return specs as they are stored, like ``read``, without checks of known keys. ``field``: their name in messages."""
    return {check_key(key, field): _text(key, value, field) for key, value in specs.items()}


def check_key(key: str, field: str) -> str:
    """Return the key of a spec unchanged. ``field``: the name of the specs in messages.

    :raises errors.Invalid: the key has other characters than a key may have, or no URL can name it.
    """
    if not _KEY.fullmatch(key):
        raise errors.Invalid(
            f'{field}: the key {key!r} must be 1 to 255 letters, digits, _, ., : and -, and not . or ..'
        )
    return key


def _text(key: str, value: str | bool | float, field: str) -> str:
    text = str(value)
    if not 0 < len(text.strip()) <= _LONGEST:
        raise errors.Invalid(f'{field}.{key}: must be text of 1 to {_LONGEST} characters.')
    return text


def _value(key: str, text: str) -> str:
    known = KNOWN.get(key)
    try:
        return known.read(text) if known else text
    except ValueError as bad:
        raise errors.Invalid(f'extra_specs.{key}: {bad}.') from None


def check_complete(specs: Mapping[str, str]) -> None:
    """Refuse extra specs of a type that are incomplete or contradict each other.

    :raises errors.Invalid: the required spec is missing, or one contradicts another.
    """
    if DHSS not in specs:
        raise errors.Invalid(f'extra_specs.{DHSS}: missing; set it to True or False.')
    for small, large in _ORDERED:
        if small in specs and large in specs and int(specs[small]) > int(specs[large]):
            raise errors.Invalid(
                f'extra_specs.{small}: {specs[small]} GiB is more than {large}, {specs[large]} GiB.'
            )


def required_specs(specs: Mapping[str, str]) -> dict[str, str]:
    """Return the extra specs that every type has."""
    return {DHSS: specs[DHSS]} if DHSS in specs else {}


def visible_specs(specs: Mapping[str, str]) -> dict[str, str]:
    """Return the extra specs that users see: the behaviour of shares, not its implementation."""
    return {key: value for key, value in specs.items() if key in KNOWN and KNOWN[key].visible}


def hidden(names: Iterable[str]) -> list[str]:
    """Return those of the extra specs that users do not see."""
    return [key for key in names if key not in KNOWN or not KNOWN[key].visible]


def missing_abilities(specs: Mapping[str, str]) -> dict[str, str]:
    """Return the abilities that the type does not mention, and that its shares therefore lack."""
    return {key: known.unset for key, known in KNOWN.items() if known.unset is not None and key not in specs}
