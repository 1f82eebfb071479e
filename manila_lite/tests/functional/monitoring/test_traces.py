# SPDX-License-Identifier: Apache-2.0
"""Traces of osprofiler: a signed request is one trace from the API to the driver; other requests are not traced."""

import testtools
from osprofiler import _utils as signing
from osprofiler import notifier, web
from osprofiler.drivers import base as profiler_drivers

from manila_lite import errors, trace
from manila_lite.cmd import setup
from manila_lite.tests.functional import base

_KEY = 'a-key-of-our-own'


class Collected(profiler_drivers.Driver):
    """A store of traces that needs no server; osprofiler finds it as a subclass."""

    seen: list = []

    @classmethod
    def get_name(cls):
        return 'collected'

    def notify(self, info, **more):
        self.seen.append(info)


class Traces(base.ServiceTest):
    EXTRA = f'[profiler]\nenabled = true\ntrace_sqlalchemy = true\nhmac_keys = {_KEY}\nconnection_string = collected://\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(cls.forget)
        trace.start(cls.service.conf, 'test')

    @classmethod
    def forget(cls):
        notifier.set(notifier._noop_notifier)
        notifier.clear_notifier_cache()
        web._ENABLED = web._HMAC_KEYS = None
        Collected.seen.clear()

    def ask(self, base_id, key=_KEY):
        """Make a share with a signed request; return it when it is available."""
        info, signature = signing.signed_pack({'base_id': base_id, 'parent_id': base_id}, key)
        status, document, _ = self.admin.call(
            'POST',
            '/shares',
            {'share': {'size': 1, 'share_proto': 'NFS', 'metadata': {'password': 'hush-4711'}}},
            headers={web.X_TRACE_INFO: info.decode(), web.X_TRACE_HMAC: signature},
        )
        self.assertEqual(200, status, document)
        return self.admin.wait(f'/shares/{document["share"]["id"]}', 'share', 'available')

    def parts(self, base_id):
        return [info for info in list(Collected.seen) if info['base_id'] == base_id]

    def stops(self, base_id, name):
        """Wait until each start of this name has its stop."""

        def counts():
            names = [info['name'] for info in self.parts(base_id)]
            return names.count(f'{name}-start'), names.count(f'{name}-stop')

        base.eventually(lambda: len({*counts()}) == 1, lambda: f'{name}: {counts()}')

    def test_signed_request_is_one_trace_from_api_to_driver(self):
        base_id = '11111111-2222-4333-8444-555555555555'
        self.ask(base_id)
        base.eventually(
            lambda: [info['name'] for info in self.parts(base_id)].count('operation-stop') >= 2,
            'scheduler and backend are not in the trace',
        )
        for name in ('wsgi', 'db', 'operation', 'driver'):
            self.assertIn(f'{name}-start', [info['name'] for info in self.parts(base_id)])
            self.stops(base_id, name)
        begun = {info['trace_id']: info for info in self.parts(base_id) if info['name'].endswith('-start')}

        def above(info):
            """Return the names of the parts around this one, from the inside out."""
            parent = begun.get(info['parent_id'])
            return [] if parent is None else [parent['name'], *above(parent)]

        (driver,) = (
            info
            for info in begun.values()
            if info['name'] == 'driver-start' and 'create_share' in str(info['info'])
        )
        self.assertEqual(['operation-start', 'wsgi-start'], above(driver))
        self.assertTrue(
            any(above(info) == ['wsgi-start'] for info in begun.values() if info['name'] == 'db-start')
        )
        self.assertNotIn('hush-4711', str(self.parts(base_id)))

    def test_request_signed_with_another_key_is_not_traced(self):
        base_id = '99999999-2222-4333-8444-555555555555'
        self.ask(base_id, key='another-key')
        self.assertEqual([], self.parts(base_id))

    def test_trace_with_an_error_has_a_stop_for_each_start(self):
        base_id = '77777777-2222-4333-8444-555555555555'
        self.service.knob('alpha', 'create_share:fail@once')
        self.ask(base_id)
        base.eventually(
            lambda: [info['name'] for info in self.parts(base_id)].count('driver-stop') >= 2, 'no second try'
        )
        self.assertTrue(
            any(
                'etype' in info.get('info', {})
                for info in self.parts(base_id)
                if info['name'] == 'driver-stop'
            )
        )
        self.stops(base_id, 'db')


class Keys(testtools.TestCase):
    def test_default_hmac_key_is_refused(self):
        conf = setup.cfg.ConfigOpts()
        setup.manila_lite.conf.register(conf)
        conf.set_default('enabled', True, 'profiler')
        refused = self.assertRaises(errors.BadConfig, setup.configure, ['--config-file=/dev/null'], conf=conf)
        self.assertIn('hmac_keys', str(refused))
