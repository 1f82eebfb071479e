# SPDX-License-Identifier: Apache-2.0
"""Files that others made are those that tools/vendored.json records, each with its licence."""

import hashlib
import importlib.machinery
import importlib.util
import json
import re

import testtools

from manila_lite.tests.contract.test_checks import ROOT

RECORD = json.loads((ROOT / 'tools/vendored.json').read_text())
_FOLDERS = ('manila_lite/console/static/vendor', 'manila_lite/tests/functional/console/vendor')


class VendoredTest(testtools.TestCase):
    def test_each_file_is_the_recorded_one(self):
        for name, package in RECORD.items():
            self.assertRegex(package['version'], r'^\d+\.\d+\.\d+$', name)
            self.assertRegex(package['integrity'], r'^sha512-[A-Za-z0-9+/]{86}==$', name)
            for path, about in package['files'].items():
                self.assertEqual(
                    about['sha256'], hashlib.sha256((ROOT / path).read_bytes()).hexdigest(), path
                )

    def test_no_file_is_unrecorded(self):
        recorded = {path for package in RECORD.values() for path in package['files']}
        there = {
            path.relative_to(ROOT).as_posix() for folder in _FOLDERS for path in (ROOT / folder).iterdir()
        }
        self.assertEqual(recorded, there)

    def test_each_package_has_its_licence(self):
        copyright_ = (ROOT / 'tools/packaging/debian/copyright').read_text()
        for name, package in RECORD.items():
            self.assertTrue(any('LICENSE' in path for path in package['files']), name)
            self.assertIn(', from npm', copyright_)
            self.assertTrue(re.search(rf'Comment: {name}\b', copyright_, re.IGNORECASE), name)

    def test_files_are_changed_only_where_browsers_need_it(self):
        loader = importlib.machinery.SourceFileLoader('vendor_console', str(ROOT / 'tools/vendor-console'))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader('vendor_console', loader))
        loader.exec_module(module)
        script, licence = ROOT / 'a.js', ROOT / 'a.txt'
        text = b'import{h}from"preact";f("preact");\n//# sourceMappingURL=a.js.map\n'
        self.assertEqual(b'import{h}from"./preact.js";f("preact");\n', module.adapted(script, text))
        self.assertEqual(text, module.adapted(licence, text))
