# SPDX-License-Identifier: Apache-2.0
"""A backend with thousands of shares: ensuring them takes few statements, and a start does not wait for it."""

import testtools

from manila_lite.db import models
from manila_lite.manager.runtime import startup
from manila_lite.tests import fixtures
from manila_lite.tests.factories import held
from manila_lite.tests.functional import base
from manila_lite.tests.functional.api.test_budgets import counting

#: With more shares the fixed cost of a run is spread further: this number is stricter than ten thousand.
COUNT = 2000
#: Shares in a batch, as the administrator's guide says.
BATCH = 250
#: SQL statements per share, all threads of the process together.
BUDGET = 0.1


class Many(testtools.TestCase):
    """A service for each test, without faults."""

    def setUp(self):
        super().setUp()
        self.patch(startup, '_WATCH', 600.0)  # no other run starts
        self.service = self.useFixture(fixtures.Service({'alpha': 'dummy_pool_size_gb = 1000000'}, parts=()))
        self.manager = self.service.managers['alpha']
        self.manager.driver.store.prepare()
        self.ids = held.make(self.service.services, self.manager.driver, COUNT)
        self.api = base.Api(self.service.app)

    def run_of(self, why):
        """Wait until the newest run has ended, and was asked for this reason; return its row."""

        def ended():
            table = models.operations
            with self.service.services.db.reader() as conn:
                rows = conn.execute(
                    table.select().where(table.c.kind == 'service.ensure').order_by(table.c.created_at)
                ).all()
            found.extend(row for row in rows[-1:] if row.data['why'] == why and row.state != 'open')
            return found

        found = []
        base.eventually(ended, 'no run has ended')
        return found[0]

    def costs(self, act, why):
        """Return the number of statements of the run, and the run."""
        with counting(self.service.services.db.engine) as counter:
            act()
            run = self.run_of(why)
        return len(counter.worked(run.request_id)), run

    def ask(self):
        status, document, _ = self.api.call('POST', '/services/ensure', {'host': 'test@alpha'})
        self.assertEqual(202, status, document)

    def test_statements_per_share_stay_within_the_budget(self):
        self.addCleanup(self.manager.stop)
        count, run = self.costs(self.manager.start, 'start')
        self.assertEqual(
            ('done', COUNT, 0), (run.state, run.data['progress']['done'], run.data['progress']['updated'])
        )
        self.assertLessEqual(count, BUDGET * COUNT)
        self.assertGreater(count, COUNT / BATCH)
        before = len(self.manager.driver.store.calls('ensure_shares'))
        count, run = self.costs(self.ask, 'api')
        self.assertEqual(('done', COUNT), (run.state, run.data['progress']['done']))
        asked = [ids.count(',') + 1 for _, ids in self.manager.driver.store.calls('ensure_shares')[before:]]
        self.assertEqual([BATCH] * (COUNT // BATCH), asked)
        self.assertLessEqual(count, BUDGET * COUNT)
        # Again with everything changed: each share has other addresses, and was exported to nobody.
        self.service.conf.set_override('dummy_export_ips', ['10.9.9.9'], 'alpha')
        self.addCleanup(self.service.conf.clear_override, 'dummy_export_ips', 'alpha')
        count, run = self.costs(self.ask, 'api')
        self.assertEqual(
            ('done', COUNT, COUNT), (run.state, run.data['progress']['done'], run.data['progress']['updated'])
        )
        self.assertLessEqual(count, BUDGET * COUNT)

    def test_service_works_while_the_first_shares_are_ensured(self):
        """Check that the service is up, and works, while the backend is ensuring the first shares."""
        self.service.knob('alpha', 'ensure_shares:hang')
        self.manager.start()
        self.addCleanup(self.manager.stop)
        self.addCleanup(self.service.knob, 'alpha', '')
        share = self.ids[-1][0]
        rule = self.api.action(share, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.9'})[1][
            'access'
        ]
        self.api.wait(f'/share-access-rules/{rule["id"]}', 'access', 'active', field='state')
        [service] = self.api.ok('GET', '/services?host=test@alpha')['services']
        self.assertEqual(('up', True), (service['state'], service['ensuring']))
        self.assertEqual('available', self.api.ok('GET', f'/shares/{share}')['share']['status'])
