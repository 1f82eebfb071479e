# SPDX-License-Identifier: Apache-2.0
"""THE list of microversions: one line each. A call or field has ``since='2.9'``; code compares with the names below.

Microversions are kept as their minor number: 2.9 is 9.
"""

import re

from manila_lite import errors

HEADER = 'X-OpenStack-Manila-API-Version'
EXPERIMENTAL_HEADER = 'X-OpenStack-Manila-API-Experimental'

HISTORY = {
    0: 'the API of the first v2 release, and the default for requests without a version',
    1: 'availability zone honoured on create',
    2: 'snapshots optional: snapshot_support',
    3: 'share instances',
    4: 'consistency groups (gone)',
    5: 'share migration; task_state',
    6: 'share type by id in shares',
    7: 'names without os-',
    8: 'is_public on manage',
    9: 'export locations as resources',
    10: 'access_rules_status',
    11: 'replicas',
    12: 'manage snapshots',
    13: 'cephx access',
    14: 'preferred export locations',
    15: 'share migration calls',
    16: 'user_id in shares',
    17: 'user and project in snapshots',
    18: 'gateway of networks',
    19: 'snapshot instances',
    20: 'mtu of networks',
    21: 'access_key',
    22: 'parameters of share migration',
    23: 'pools by share type',
    24: 'snapshot_support optional; create_share_from_snapshot_support',
    25: 'quota detail',
    26: 'no nova_net_id',
    27: 'revert to snapshot',
    28: 'states of access rules',
    29: 'migration keeps snapshots',
    30: 'cast_rules_to_readonly',
    31: 'share groups',
    32: 'mountable snapshots',
    33: 'times of access rules',
    34: 'consistent snapshots of groups',
    35: 'filter by export location',
    36: 'like filters',
    37: 'user messages',
    38: 'IPv6 access',
    39: 'quotas by share type',
    40: 'quotas of groups',
    41: 'description of share types',
    42: 'with_count',
    43: 'types by extra spec',
    44: 'ou of security services',
    45: 'access rules as resources, metadata',
    46: 'is_default of types',
    47: 'replica export locations',
    48: 'zones of share types',
    49: 'manage with share servers',
    50: 'update share types',
    51: 'subnets',
    52: 'messages by time',
    53: 'replica quotas',
    54: 'progress',
    55: 'groups graduate',
    56: 'replicas graduate',
    57: 'share server migration',
    58: 'group limits',
    59: 'details of migration progress',
    60: 'project id optional in URLs',
    61: 'size limits of types',
    62: 'size quota of one share',
    63: 'security services of networks in use',
    64: 'force extend',
    65: 'affinity hints',
    66: 'group types by spec',
    67: 'only_host hint',
    68: 'admin-only metadata',
    69: 'recycle bin',
    70: 'several subnets in a zone',
    71: 'updated_at of instances',
    72: 'network of replicas',
    73: 'snapshot metadata',
    74: 'rules beside broken replicas',
    75: 'quiesce before promote',
    76: 'default_ad_site',
    77: 'transfers',
    78: 'subnet metadata',
    79: 'with_count of snapshots',
    80: 'backups',
    81: 'locks',
    82: 'locks of access rules',
    83: 'disabled_reason',
    84: 'mount_point_name',
    85: 'backup types',
    86: 'ensure shares',
    87: 'export location metadata',
    88: 'change the level of a rule',
    89: 'subnet metadata for drivers',
    90: 'encryption keys',
    91: 'restore to another share',
    92: 'mount_point_name on manage',
    93: 'services by ensuring',
    94: 'QoS types',
    95: 'replica metadata',
    96: 'migration graduates',
    97: 'shares by zone',
    98: 'migration progress by GET',
    99: 'snapshots inherit access',
}

MIN, MAX = min(HISTORY), max(HISTORY)

# Changes of meaning, by name: ``if req.version >= versions.STATES_OF_RULES``.
PLAIN_NAMES = 7
EXPORT_LOCATIONS = 9
STATES_OF_RULES = 28
IPV6_RULES = 38
EXPORTS_OF_REPLICAS = 47
ZONES_OF_TYPES = 48
SUBNETS = 51
SECURITY_SERVICES_IN_USE = 63
SEVERAL_SUBNETS = 70
RULES_BESIDE_BROKEN_REPLICAS = 74
SUBNET_METADATA = 78
SUBNET_METADATA_FOR_DRIVERS = 89

_FORM = re.compile(r'(\d{1,9})\.(\d{1,9})', re.ASCII)


def minor(text: str) -> int:
    """Return the minor number of a version: 9 for ``'2.9'``."""
    return int(text.partition('.')[2])


def show(version: int) -> str:
    """Return the version of a minor number: ``'2.9'`` for 9."""
    return f'2.{version}'


def asked(header: str | None, where: str = HEADER) -> int:
    """Return the minor number that a request asks for; 0 (version 2.0) without the header.

    :raises errors.Invalid: the header (or the input that ``where`` names) is malformed, or is ``latest``.
    :raises errors.NotAcceptable: the version is not served.
    """
    if header is None:
        return MIN
    match = _FORM.fullmatch(header.strip())
    if not match:
        raise errors.Invalid(f'{where}: {header!r} is not of the form 2.N.')
    major, number = int(match[1]), int(match[2])
    if major != 2 or not MIN <= number <= MAX:
        raise errors.NotAcceptable(
            f'{where}: version {header.strip()} is not supported; supported are {show(MIN)} to {show(MAX)}.'
        )
    return number
