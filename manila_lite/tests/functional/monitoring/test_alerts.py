# SPDX-License-Identifier: Apache-2.0
"""The alerting rules and the dashboard on metrics of real processes, with a real Prometheus."""

import testtools

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite import metrics
from manila_lite.cmd import metrics_collector
from manila_lite.tests import process, watching
from manila_lite.tests.services import daemon, prometheus

_CONFIG = 'service_down_time = 3\nshare_usage_interval = 1\n[metrics]\nport = {port}\nports = 3\ncache_seconds = 1\n'
#: Series that are there when a process has read the database, with one label of each.
_SHOWN = (
    ('operations_open', 'age'),
    ('pool_free_bytes', 'pool'),
    ('pool_shares_nearly_full', 'pool'),
    ('schedule_good_age_seconds', 'schedule'),
)
#: Series that exist only after something went wrong, with the labels that they have then.
_AFTER_FAILURES = {
    f'{family.name}_total': labels
    for family, labels in metrics.families()
    if family.name in ('manila_lite_database_errors', 'manila_lite_connections_given_up')
}
#: Series that exist only where a share has a replica, in the same form.
_OF_REPLICAS = {
    family.name: labels
    for family, labels in metrics_collector.families()
    if family.name.startswith('manila_lite_replica_age')
}


class Watched(testtools.TestCase):
    """API, scheduler and share manager as processes, with a share that is measured, and a schedule."""

    def setUp(self):
        super().setUp()
        self.port = process.free_ports(3)
        self.parts = self.useFixture(process.Parts(_CONFIG.format(port=self.port)))
        self.started = {name: self.parts.run(name) for name in ('api', 'scheduler', 'share')}
        self.parts.until(self.parts.answers, 'the API answers')
        self.parts.ok('POST', '/types', process.DEFAULT_TYPE)
        self.parts.until(self.parts.pools, 'a pool')
        self.parts.wait(f'/shares/{self.parts.share()}', 'share', 'available')
        self.parts.ok('POST', '/schedules', {'schedule': {'cron': '0 0 1 1 *'}})

    def scraped(self):
        return [watching.Scraped(port) for port in range(self.port, self.port + 3)]

    def all_shown(self):
        """Return the scraped processes, if all have what the database says."""
        found = self.scraped()
        return found if all(one.labels(name, label) for one in found for name, label in _SHOWN) else None

    def test_metrics_labels_and_values_that_alerts_and_dashboard_name_are_shown(self):
        found = self.parts.until(self.all_shown, 'every process shows the database')
        series = {}
        for sample in (sample for one in found for sample in one.samples):
            series.setdefault(sample.name, []).append(sample.labels)
        for one in found:
            self.assertEqual(set(), {name.removesuffix('_total') for name in _AFTER_FAILURES} - one.names)
        for where, text in watching.expressions().items():
            for name, matchers in watching.selectors(text):
                known = series.get(name) or [dict.fromkeys((_AFTER_FAILURES | _OF_REPLICAS)[name], '')]
                for label, operator, value in matchers:
                    if label not in watching.GIVEN:
                        self.assertTrue(any(label in labels for labels in known), (where, name, label))
                        if operator == '=':
                            self.assertIn(value, {labels[label] for labels in known}, (where, name, label))

    def test_alerts_tell_a_service_that_died_from_one_that_was_stopped(self):
        # What takes effect after an hour in the file does so at once here.
        rules = [{**rule, 'for': '0s'} for rule in watching.alerts()]
        try:
            server = self.useFixture(prometheus.Prometheus(range(self.port, self.port + 3), rules))
        except daemon.Missing as missing:
            self.skipTest(str(missing))
        self.parts.until(
            lambda: len(server.query('manila_lite_service_up == 1')) == 6, 'all is scraped, and up'
        )
        self.assert_evaluated(server)
        died, stopped = (
            ('ManilaLiteServiceDown', 'manila-scheduler'),
            ('ManilaLiteServiceStopped', 'manila-share'),
        )

        def about_services():
            return {alert for alert in server.firing() if alert[0] in (died[0], stopped[0])}

        self.parts.until(lambda: not about_services(), 'no alert fires')  # a heartbeat may be late
        self.started['scheduler'].kill()
        self.parts.until(lambda: about_services() == {died}, f'{died} alone fires')
        self.started['share'].terminate()
        self.parts.until(lambda: about_services() == {died, stopped}, f'{stopped} fires, too')
        for name in ('scheduler', 'share'):
            self.parts.run(name)
        self.parts.until(lambda: not about_services(), 'the alerts end')

    def assert_evaluated(self, server):
        """Check that Prometheus evaluates all rules and all expressions without an error."""
        self.parts.until(
            lambda: (
                {rule['health'] for group in server.ask('rules')['groups'] for rule in group['rules']}
                == {'ok'}
            ),
            'all rules are evaluated',
        )
        expressions = watching.expressions()
        for expression in expressions.values():
            self.assertIsInstance(server.query(expression), list, expression)
        for joined in ('Memory A', 'CPU A', 'Open descriptors A'):  # a rate needs two scrapes
            self.parts.until(
                lambda joined=joined: (
                    {row['metric']['service'] for row in server.query(expressions[joined])}
                    == {'manila-api', 'manila-scheduler', 'manila-share'}
                ),
                f'{joined} names each process',
            )
