# SPDX-License-Identifier: Apache-2.0
"""What manila-csi and the Terraform provider do with shares, in Go, with the library that they use; answers are lost."""

import re

from manila_lite.tests.contract.test_checks import ROOT
from manila_lite.tests.functional.clients import golang


class Programs(golang.GoTest):
    def test_each_step_succeeds_and_may_be_repeated(self):
        told = self.run_program('programs')
        self.assertEqual([], [row for row in told if row['wrong']])
        steps = [row['step'] for row in told]
        self.assertEqual('terraform: destroy again', steps[-1])
        # The page says which calls of the driver were tried.
        page = (ROOT / 'doc/source/user/kubernetes.rst').read_text()
        calls = {match[1] for step in steps if (match := re.match(r'csi: ([A-Z]\w+)', step))}
        self.assertEqual(calls, set(re.findall(r'(?m)^``([A-Z]\w+)`` .* tried', page)))
