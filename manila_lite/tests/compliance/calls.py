# SPDX-License-Identifier: Apache-2.0
"""Each call of ``cases.py``: once, twice, across a restart, after a killed process, and beside a change of access."""

import testscenarios

from manila_lite.tests.compliance import base, cases


class EveryCall(testscenarios.WithScenarios):
    """Mixin for a ``base.Binding``."""

    scenarios = [(case.__name__, {'case_class': case}) for case in cases.CASES]

    def setUp(self):
        super().setUp()
        self.needs(self.case_class.ABILITY)
        self.case = self.case_class(self)

    def _verify(self, answer) -> None:
        self.case.verify_kept()
        self.case.verify(answer)

    def test_call_keeps_its_promise(self):
        self.case.arrange()
        self._verify(self.case.call())

    def test_repeated_call_keeps_its_promise(self):
        self.case.arrange()
        first = self.case.call()
        second = self.case.call()
        self.assertEqual(self.case.lasting(first), self.case.lasting(second))
        self._verify(second)

    def test_call_repeated_after_a_restart(self):
        self.case.arrange()
        first = self.case.call()
        self.restart()
        second = self.case.call()
        self.assertEqual(self.case.lasting(first), self.case.lasting(second))
        self._verify(second)

    def test_call_repeated_after_a_kill(self):
        for moment in self.MOMENTS:
            self.case.arrange()
            self.driver.shutdown()
            self.kill(self.case.METHOD, self.case.args, moment)
            self.restart()
            self._verify(self.case.call())


class BesideAccess(testscenarios.WithScenarios):
    """``update_access`` may run beside any other call for the same share. Mixin for a ``base.Binding``."""

    scenarios = [(case.__name__, {'case_class': case}) for case in cases.CASES if case.BESIDE]
    ROUNDS = 6

    def setUp(self):
        super().setUp()
        self.needs(self.case_class.ABILITY)
        self.case = self.case_class(self)

    def _change(self) -> None:
        for number in range(self.ROUNDS):
            self.driver.update_access(self.case.share, self.rules((self.OTHER, self.GOOD)[number % 2]))

    def test_access_changes_beside_the_call(self):
        self.case.arrange()
        changes = base.Background(self._change)
        answer = self.case.call()
        if self.case.METHOD == 'delete_share':
            changes.join(base.STUCK)  # rules of a deleted share may be refused in any way
        else:
            changes.ended()
            self.driver.update_access(self.case.share, self.rules(self.GOOD))
            self.case.verify_kept()
        self.case.verify(answer)
