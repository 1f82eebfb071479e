# SPDX-License-Identifier: Apache-2.0
"""Options of the bus. ``transport_url`` and the other options of oslo.messaging are in their own groups."""

from oslo_config import cfg

from manila_lite.conf import numeric

RPC: list[cfg.Opt] = [
    numeric.Float(
        'drain_timeout',
        default=5.0,
        min=0,
        max=numeric.WEEK,
        help='Seconds for which a process that stops waits for unsent wake-ups.',
    )
]

UPGRADE_LEVELS: list[cfg.Opt] = [
    cfg.StrOpt(
        'operations',
        choices=[
            ('auto', 'the newest version of this release'),
            ('1.0', 'before release 0.1.0; secrets are written without encryption then'),
            ('1.1', 'release 0.1.0: with lanes'),
        ],
        default='auto',
        help='Version of the wake-ups that are sent. While old and new processes run together, set the version of the old '
        'ones. A wake-up of an unknown version only costs time: the operation is found by polling.',
    )
]

OPTIONS = {'rpc': RPC, 'upgrade_levels': UPGRADE_LEVELS}
