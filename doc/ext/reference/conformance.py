# SPDX-License-Identifier: Apache-2.0
"""The published tests of Manila by feature, upstream and here: a run of ./tools/test fails if one is worse here."""

import re
from collections import Counter
from collections.abc import Iterator

from manila_lite.tests.conformance import cloud, modes, outcomes
from reference import rst

#: Features by the begin of a module's name; the first that fits.
_FEATURES = {
    'access_rules_metadata': 'Access rules',
    'rules': 'Access rules',
    'admin_actions': 'Resets and other actions of administrators',
    'availability_zones': 'Availability zones',
    'backup': 'Backups',
    'export_locations': 'Export locations',
    'limits': 'Quotas and limits',
    'quotas': 'Quotas and limits',
    'metadata': 'Metadata of shares',
    'microversions': 'Versions and extensions',
    'extensions': 'Versions and extensions',
    'migration': 'Migration of shares',
    'qos': 'QoS types',
    'replication': 'Replicas',
    'resource_locks': 'Resource locks',
    'revert': 'Revert to a snapshot',
    'scheduler': 'Scheduler hints and pools',
    'multi_backend': 'Scheduler hints and pools',
    'shares_from_snapshot': 'Shares',
    'public_shares': 'Shares',
    'shares': 'Shares',
    'share_instances': 'Share instances',
    'security_services': 'Security services',
    'services': 'Services',
    'share_encryption': 'Encryption',
    'share_group': 'Share groups',
    'share_manage': 'Managing of shares',
    'share_network': 'Share networks and subnets',
    'share_servers_migration': 'Migration of share servers',
    'share_servers': 'Share servers',
    'share_transfers': 'Transfers',
    'share_type': 'Share types',
    'share_snapshot': 'Snapshots',
    'snapshot_manage': 'Managing of snapshots',
    'snapshot': 'Snapshots',
    'user_messages': 'User messages',
}


def lines() -> Iterator[str]:
    """Yield the table of features, that of differences, and that of scenario tests that cannot run."""
    columns = [(found, mode) for mode in cloud.MODES for found in (_upstream(mode), _here(mode))]
    features = sorted(set().union(*(found for found, _ in columns)))
    rows = [(feature, *(str(found[feature]) for found, _ in columns)) for feature in features]
    heads = (
        'Feature',
        *(f'{whose}, {mode}' for mode in cloud.MODES for whose in ('upstream', 'manila_lite')),
    )
    yield from rst.table(
        heads, [*rows, ('**All**', *(f'**{found.total()}**' for found, _ in columns))], (40, 15, 15, 15, 15)
    )
    yield from rst.heading('Differences', '-')
    differences = {
        name: one.reason
        for mode in cloud.MODES
        for name, one in outcomes.read(outcomes.DIFFERENCES, mode).items()
    }
    yield from _reasons(differences)
    yield from rst.heading('Scenario tests', '-')
    yield 'The scenario tests run over the ``linux`` driver, with client machines that mount by NFS. All pass but these.'
    yield ''
    yield from _reasons(
        {
            name: one.reason
            for mode in modes.MODES
            for name, one in outcomes.read(outcomes.SKIPS, mode).items()
            if mode not in cloud.MODES
        }
    )


def _reasons(found: dict[str, str]) -> Iterator[str]:
    rows = [(rst.code('.'.join(name.strip(')').rsplit('.', 2)[1:])), why) for name, why in found.items()]
    yield from rst.table(('Test', 'Why'), rows, (60, 40))


def _upstream(mode: str) -> Counter[str]:
    return _passing(outcomes.read(outcomes.UPSTREAM, mode))


def _here(mode: str) -> Counter[str]:
    """Count what passes here: no run is good in which less does, and those that are better count only upstream's."""
    different = outcomes.read(outcomes.DIFFERENCES, mode)
    return _passing(
        {name: one for name, one in outcomes.read(outcomes.UPSTREAM, mode).items() if name not in different}
    )


def _passing(found: outcomes.Outcomes) -> Counter[str]:
    return Counter(_feature(name) for name, one in found.items() if one.good)


def _feature(test: str) -> str:
    module = re.sub(r'.*\.test_([a-z_0-9]+)\..*', r'\1', test)
    return next(feature for begin, feature in _FEATURES.items() if module.startswith(begin))
