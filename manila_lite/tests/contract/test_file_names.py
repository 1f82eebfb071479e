# SPDX-License-Identifier: Apache-2.0
"""Files of db/models and db/queries have the names of the API's resources, as its contract has them."""

import pathlib

import testscenarios
import testtools

from manila_lite.tests.contract.test_checks import ROOT

DB = ROOT / 'manila_lite' / 'db'
CONTRACT = ROOT / 'manila_lite' / 'api' / 'v2'

#: Files that are named after no resource of the API, each with the reason.
MODELS = {
    'base': 'the metadata and column types of all tables',
    'idempotency_keys': 'a header of any request, and no resource',
    'quota_triggers': 'what the database does by itself to the table of changes',
    'quotas': 'one table for what quota_sets and quota_classes show',
    'secrets': 'the check of the key, which no client sees',
}
QUERIES = {
    'affinity': 'metadata of shares that scheduler hints named',
    'allocations': 'addresses of share servers, which no client sees',
    'backend_leases': 'a column of services that only processes use',
    'backend_machines': 'manila-manage host machines: which machine of a backend serves and which ones wait',
    'ensure': 'an action on services, with its own order of shares',
    'evacuation': 'an action on services, with its own order of resources',
    'hosts': 'manila-manage: services, pools and all that is on them',
    'idempotency_keys': 'a header of any request, and no resource',
    'metrics_queries': 'figures for operators from many tables',
    'migration_promises': 'capacity that operations on share servers hold, which pools show',
    'operation_claims': 'operations as workers claim and end them',
    'operation_views': 'operations as the API shows them; operations.py is for all others',
    'overview': 'manila-manage top: figures from many tables',
    'pool_reports': 'pools as backends report them, and what the scheduler claims of them',
    'project_turns': 'the order in which workers take operations',
    'quota_counts': 'usage as it is counted, of share types and of replicas',
    'quota_sums': 'usage as the database sums it up',
    'quotas': 'one table for what quota_sets and quota_classes show',
    'share_records': 'manila-manage: deletes a share without its backend',
    'share_server_capabilities': 'manila-manage: columns of share servers that clients do not change',
    'share_server_queries': 'share servers for share managers; share_servers.py is for requests',
    'type_access': 'projects of share types and of share group types',
    'unused_share_servers': 'share servers that no share needs, for share managers',
}


def names(folder: pathlib.Path) -> set[str]:
    return {path.stem for path in folder.glob('*.py')} - {'__init__'}


class FileNames(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [
        ('models', {'folder': 'models', 'exempt': MODELS}),
        ('queries', {'folder': 'queries', 'exempt': QUERIES}),
    ]

    def test_file_names_are_those_of_api_resources(self):
        self.assertEqual(set(), names(DB / self.folder) - names(CONTRACT) - set(self.exempt))

    def test_each_exemption_is_needed(self):
        self.assertEqual(set(), set(self.exempt) - (names(DB / self.folder) - names(CONTRACT)))
