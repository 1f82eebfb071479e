# SPDX-License-Identifier: Apache-2.0
"""Reports for administrators: each failure has its reason, or the request id under which the log has it."""

import logging

from oslo_context import context

from manila_lite import errors
from manila_lite.tests.functional import base, served
from manila_lite.tests.services import hearing


class _Log(logging.Handler):
    """Handler that keeps the request id of each line about an error: an expected one has no traceback."""

    def __init__(self):
        super().__init__()
        self.request_ids = set()

    def emit(self, record):
        if (record.exc_info or record.levelno >= logging.ERROR) and context.get_current() is not None:
            self.request_ids.add(context.get_current().request_id)


class Reasons(served.ServedTest):
    BACKENDS = {
        'alpha': '',
        'beta': 'driver_handles_share_servers = true\n',
        'gamma': 'backend_availability_zone = far\n',
    }

    def setUp(self):
        super().setUp()
        self.log = _Log()
        logging.getLogger().addHandler(self.log)
        self.addCleanup(logging.getLogger().removeHandler, self.log)
        self.heard = self.useFixture(hearing.Heard(self.service.conf))

    def logged(self, headers):
        """Return the text for an unexpected error of this answer's request, which the log has."""
        self.assertIn(headers['x-compute-request-id'], self.log.request_ids)
        return errors.unexpected(headers['x-compute-request-id'])

    def ensure(self, backend, **more):
        """Have the shares of the backend ensured, which fails; return the operation, and the text for an unexpected error."""
        answers = []

        def accepted():
            answers.append(self.admin.call('POST', '/services/ensure', {'host': f'test@{backend}', **more}))
            return answers[-1][0] == 202

        base.eventually(accepted, lambda: answers[-1][:2])
        headers = answers[-1][2]
        path = f'/operations/{headers["Operation-Id"]}'
        base.eventually(
            lambda: self.admin.ok('GET', path)['operation']['state'] == 'failed', 'it does not fail'
        )
        return self.admin.ok('GET', path)['operation'], self.logged(headers)

    def told(self, event):
        """Return the errors of the notifications of this type."""
        found = [one['payload'] for one in self.heard.events if one['event'] == event]
        return {payload['error'] for payload in found}

    def test_49_11_a_failed_run_names_the_request_id_for_each_share(self):
        share = self.user.share(availability_zone='nova')['id']
        for fault, more in (('ensure_shares:fail', {}), ('inspect_shares:fail', {'dry_run': True})):
            self.fault(fault)
            found, unsaid = self.ensure('alpha', **more)
            self.assertEqual(unsaid, found['report']['reasons'][share], fault)
            self.assertIn(unsaid, found['error'])
            base.eventually(
                lambda unsaid=unsaid: any(unsaid in text for text in self.told('share.ensure.error')),
                'nobody is told',
            )
        [message] = self.messages(share)
        self.assertNotIn('request id', message['user_message'])  # the log is the operator's

    def test_49_11_a_share_server_that_does_not_run_names_the_request_id(self):
        share = self.share(self.network())['id']
        [server] = [one['id'] for one in self.admin.ok('GET', '/share-servers')['share_servers']]
        self.fault('ensure_servers:fail', 'beta')
        found, unsaid = self.ensure('beta')
        self.assertEqual(unsaid, found['report']['servers'][server])
        self.assertEqual(f'Its share server does not run. {unsaid}', found['report']['reasons'][share])

    def test_49_11_a_driver_that_gives_its_reason_is_quoted(self):
        share = self.user.share(availability_zone='nova')['id']
        self.fault('ensure_shares:fail_final')
        found, unsaid = self.ensure('alpha')
        self.assertNotIn(unsaid, found['report']['reasons'][share])
        self.assertIn('fail_final', found['report']['reasons'][share])

    def test_49_11_a_check_that_fails_without_a_word_names_the_request_id(self):
        share = self.user.share(availability_zone='nova')['id']
        self.fault('share_migration_check_compatibility:fail', 'gamma')
        status, document, headers = self.admin.action(
            share,
            'migration_start',
            {
                'host': 'test@gamma',
                'writable': False,
                'nondisruptive': False,
                'preserve_snapshots': True,
                'preserve_metadata': True,
            },
        )
        self.assertEqual(202, status, document)
        [message] = self.admin.ok('GET', f'/messages?resource_id={share}')['messages']
        self.assertIn(self.logged(headers), message['user_message'])
