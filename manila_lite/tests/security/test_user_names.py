# SPDX-License-Identifier: Apache-2.0
"""Access rules of CIFS shares do not tell which users other projects have."""

from manila_lite.tests.functional.linux import cifs_base


@cifs_base.needs_samba
class Names(cifs_base.Plain):
    """Rules for names on the operator's list, and for others, at a real smbd."""

    def test_rules_for_known_and_unknown_users_have_the_same_result(self):
        theirs, mine = self.cifs(), self.cifs()
        self.allow(theirs, ('alice', 'rw'), ('bobby', 'ro'))
        guesses = [
            (name, level)
            for name in ('alice', 'BOBBY', 'eveline', 'al.ice', 'x' * 63)
            for level in ('rw', 'ro')
        ]
        for guess in guesses:
            [result] = self.driver.update_access(mine, self.rules(guess)).values()
            self.assertIsNone(result.error, guess)
            [result] = self.ensured(mine, guess).rules.values()
            self.assertIsNone(result.error, guess)
        for odd in ('S-1-1-0', 'root', 'none', 'a b c'):
            [result] = self.driver.update_access(mine, self.rules((odd, 'rw'))).values()
            self.assertIn('no user can have the name', result.error)

    def test_rule_for_an_unknown_user_admits_nobody_until_there_is_one(self):
        share = self.cifs()
        self.allow(share, ('frida', 'rw'))
        for name in ('alice', 'bobby'):
            self.denied(share, name)  # as of a share for somebody whom the server knows
        self.denied(share, 'frida', why='NT_STATUS_LOGON_FAILURE')
        self.know('frida', 'frida')
        self.ensured(share, ('frida', 'rw'))
        self.writes(share, 'frida')
        self.denied(share, 'alice')
