# SPDX-License-Identifier: Apache-2.0
"""Metrics count events, and no caller can create labels."""

import testtools

from manila_lite import metrics


def value(name, **labels):
    """Return a sample's value; 0 if there is none yet."""
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


class Labels(testtools.TestCase):
    def test_unknown_methods_are_counted_as_other(self):
        before = value('manila_lite_requests_total', route='/v2/x', method='other', status='405')
        for method in ('BREW', 'get', 'X' * 1000):
            metrics.request('/v2/x', method, 405, 0.1)
        self.assertEqual(
            before + 3, value('manila_lite_requests_total', route='/v2/x', method='other', status='405')
        )

    def test_database_errors_are_labelled_by_class_not_by_message(self):
        before = value('manila_lite_database_errors_total', error='KeyError')
        for text in ('a', 'b'):
            metrics.database_error(KeyError(text))
        self.assertEqual(before + 2, value('manila_lite_database_errors_total', error='KeyError'))


class Values(testtools.TestCase):
    def test_wake_ups_are_counted_by_outcome(self):
        sent, failed = (
            value('manila_lite_rpc_wakeups_total', outcome=outcome) for outcome in ('sent', 'failed')
        )
        metrics.wake_up(sent=True)
        metrics.wake_up(sent=False)
        metrics.wake_up(sent=False)
        self.assertEqual(
            (sent + 1, failed + 2),
            tuple(value('manila_lite_rpc_wakeups_total', outcome=outcome) for outcome in ('sent', 'failed')),
        )

    def test_clock_set_back_adds_no_negative_wait(self):
        before = value('manila_lite_operation_wait_seconds_sum', kind='x')
        metrics.claimed('x', -5.0)
        self.assertEqual(before, value('manila_lite_operation_wait_seconds_sum', kind='x'))

    def test_ended_operations_are_counted_with_their_duration(self):
        metrics.ended('y', 'failed', 3.0)
        self.assertEqual(1, value('manila_lite_operations_ended_total', kind='y', outcome='failed'))
        self.assertEqual(1, value('manila_lite_operation_duration_seconds_bucket', kind='y', le='5.0'))
        self.assertEqual(0, value('manila_lite_operation_duration_seconds_bucket', kind='y', le='2.5'))
