# SPDX-License-Identifier: Apache-2.0
"""Infrastructures and handlers are found by their names; an unknown name is reported."""

import testtools
from oslo_config import cfg

from manila_lite import errors
from manila_lite.siblings.dataproc import conf, fake, load


class LoadTest(testtools.TestCase):
    def options(self, **values):
        made = cfg.ConfigOpts()
        conf.register_opts(made)
        made([], project='test', default_config_files=[])
        for name, value in values.items():
            made.set_override(name, value, 'dataproc')
        return made

    def test_infra_and_handlers_are_loaded_by_name(self):
        options = self.options(infra='fake', handlers={'nfs': 'fake'})
        self.assertIsInstance(load.infra(options), fake.FakeInfra)
        self.assertEqual(
            {'NFS': fake.FakeHandler}, {name: type(made) for name, made in load.handlers(options).items()}
        )

    def test_nfs_handler_is_the_default(self):
        self.assertEqual(['NFS'], [made.protocol for made in load.handlers(self.options()).values()])

    def test_unknown_names_are_refused(self):
        options = self.options(infra='none', handlers={'NFS': 'none'})
        self.assertIn('[dataproc] infra', str(self.assertRaises(errors.BadConfig, load.infra, options)))
        self.assertIn('[dataproc] handlers', str(self.assertRaises(errors.BadConfig, load.handlers, options)))
