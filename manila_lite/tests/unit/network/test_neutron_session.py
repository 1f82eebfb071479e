# SPDX-License-Identifier: Apache-2.0
"""An incomplete configuration of Neutron is one line that names the missing options; no request is sent for that."""

import pathlib

import fixtures
import openstack.exceptions
import requests
import testscenarios
import testtools
from oslo_config import cfg

import manila_lite.conf
from manila_lite import errors
from manila_lite.network import load, neutron_session

_KEYSTONE = {
    'auth_url': 'http://127.0.0.1:9/v3',
    'username': 'manila',
    'password': 'hush-4711',
    'project_name': 'service',
}


def configured(path, options, section=''):
    """Return a ConfigOpts of its own with these options of [neutron], as read from a file."""
    lines = [
        '[network]',
        'plugin = neutron',
        '[neutron]',
        *(f'{name} = {value}' for name, value in options.items()),
        section,
    ]
    path.write_text('\n'.join(lines))
    return manila_lite.conf.register(cfg.ConfigOpts())


class Configured(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'conf'

    def make(self, options, section=''):
        conf = configured(self.path, options, section)
        conf([f'--config-file={self.path}'])
        return load.make(conf)


class Half(testscenarios.WithScenarios, Configured):
    scenarios = [
        ('nothing', {'options': {}, 'words': ('auth_type', 'missing')}),
        ('no such login', {'options': {'auth_type': 'nonsense'}, 'words': ('auth_type', 'nonsense')}),
        ('nowhere', {'options': {'auth_type': 'none'}, 'words': ('endpoint_override', 'none')}),
        (
            'basic, nobody',
            {
                'options': {'auth_type': 'http_basic', 'endpoint': 'http://127.0.0.1:9'},
                'words': ('username', 'http_basic'),
            },
        ),
        (
            'basic, no password',
            {
                'options': {'auth_type': 'http_basic', 'endpoint': 'http://127.0.0.1:9', 'username': 'a'},
                'words': ('password', 'missing'),
            },
        ),
        *(
            (
                f'keystone without {name}',
                {
                    'options': {
                        'auth_type': 'password',
                        **{key: value for key, value in _KEYSTONE.items() if key != name},
                    },
                    'words': (name, 'password'),
                },
            )
            for name in _KEYSTONE
        ),
        (
            'keystone 3, no domain',
            {'options': {'auth_type': 'v3password', **_KEYSTONE}, 'words': ('user_domain_name',)},
        ),
    ]

    def test_error_names_the_missing_option_in_one_line(self):
        said = str(self.assertRaises(errors.BadConfig, self.make, self.options))
        for word in ('[neutron]', *self.words):
            self.assertIn(word, said)
        self.assertEqual(1, len(said.splitlines()))
        self.assertNotIn(_KEYSTONE['password'], said)


class Whole(testscenarios.WithScenarios, Configured):
    scenarios = [
        (
            'none',
            {'options': {'auth_type': 'none', 'endpoint_override': 'http://127.0.0.1:9'}, 'section': ''},
        ),
        (
            'none, the other option',
            {'options': {'auth_type': 'none', 'endpoint': 'http://127.0.0.1:9'}, 'section': ''},
        ),
        (
            'basic',
            {
                'options': {
                    'auth_type': 'http_basic',
                    'endpoint': 'http://127.0.0.1:9',
                    'username': 'a',
                    'password': 'b',
                },
                'section': '',
            },
        ),
        ('keystone', {'options': {'auth_type': 'password', **_KEYSTONE}, 'section': ''}),
        (
            'in another section',
            {
                'options': {'auth_section': 'service_user'},
                'section': '\n'.join(
                    [
                        '[service_user]',
                        'auth_type = password',
                        *(f'{name} = {value}' for name, value in _KEYSTONE.items()),
                    ]
                ),
            },
        ),
    ]

    def test_complete_configuration_loads_without_a_request(self):
        plugin = self.make(self.options, self.section)
        unavailable = self.assertRaises(errors.Unavailable, plugin.owners)
        self.assertEqual('neutron_unavailable', unavailable.code)


class Kept(Configured):
    def test_plugin_section_uses_the_options_of_the_neutron_section(self):
        """A section that describes a plugin uses the Neutron of [neutron]."""
        conf = configured(
            self.path,
            {'auth_type': 'none', 'endpoint': 'http://127.0.0.1:9'},
            '[administrators]\nplugin = neutron',
        )
        conf([f'--config-file={self.path}'])
        self.assertEqual(
            'neutron_unavailable',
            self.assertRaises(errors.Unavailable, load.make(conf, 'administrators').owners).code,
        )

    def test_connection_is_reused_until_the_configuration_changes(self):
        options = {'auth_type': 'none', 'endpoint': 'http://127.0.0.1:9'}
        first = configured(self.path, options)
        first([f'--config-file={self.path}'])
        one = neutron_session.connect(first)
        self.assertIs(one, neutron_session.connect(first))
        first.set_override('region_name', 'north', 'neutron')
        self.assertIsNot(one, neutron_session.connect(first))


class Kinds(testtools.TestCase):
    """Errors by Neutron's type names, and unknown ones."""

    def test_kind_is_the_neutron_type_or_empty_if_unknown(self):
        for document, kind in (
            ('{"NeutronError": {"type": "PortNotFound"}}', 'PortNotFound'),
            ('{"NeutronError": "text"}', ''),
            ('{"error": {}}', ''),
            ('[]', ''),
            ('no JSON', ''),
            ('', ''),
        ):
            answer = requests.Response()
            answer.status_code = 404
            answer._content = document.encode()
            refused = openstack.exceptions.HttpException('refused', response=answer)
            self.assertEqual(kind, neutron_session.kind_of(refused), document)
        self.assertEqual('', neutron_session.kind_of(openstack.exceptions.HttpException('refused')))
