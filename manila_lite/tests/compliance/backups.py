# SPDX-License-Identifier: Apache-2.0
"""Backups by a driver: every call."""

from typing import Any

from oslo_utils import uuidutils

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.tests import waiting
from manila_lite.tests.compliance import base, calls
from manila_lite.tests.compliance.cases import Case


class KeepsBackups:
    """Mixin for a ``base.Binding`` of a driver that makes backups."""

    def backup_type(self) -> values.BackupType:
        """Return a type of backup that the driver can use."""
        return values.BackupType('nightly')

    def a_backup(self) -> values.Backup:
        """Return a backup that is not made yet, and that is deleted at the end of the test."""
        backup = values.Backup(uuidutils.generate_uuid(), 1, self.backup_type(), base.HOST, 'a-project')
        self.addCleanup(self.driver_call, 'delete_backup', backup)
        return backup

    def complete(self, verb: str, share: values.Share, backup: values.Backup) -> None:
        """Wait until the backup or restore is complete."""

        def complete() -> bool:
            progress = getattr(self.driver, f'{verb}_backup_continue')(share, backup)
            self.assertIsInstance(progress, values.BackupProgress)
            return progress.percent >= 100

        waiting.until(complete, f'the {verb} is complete', pause=0.05)

    def made_backup(self, share: values.Share) -> values.Backup:
        """Return a backup that is complete."""
        backup = self.a_backup()
        self.driver.create_backup(share, backup)
        self.complete('create', share, backup)
        return backup


class _Backup(Case):
    ABILITY = interface.BacksUp
    BESIDE = False

    def arrange(self) -> None:
        self.share = self.test.made_share(rules=self.test.GOOD)
        self.backup = self.test.a_backup()
        self.args = (self.share, self.backup)

    def lasting(self, answer: Any) -> None:
        """Return nothing: a copy makes progress between two calls."""

    def verify_kept(self) -> None:
        self.test.assertEqual(set(self.test.GOOD), self.test.in_force(self.share))


class Create(_Backup):
    METHOD = 'create_backup'

    def verify(self, answer: Any) -> None:
        self.test.complete('create', self.share, self.backup)
        self.test.assertEqual('first', self.test.read(self.share))
        other = self.test.made_share(content='other')
        self.test.driver.restore_backup(other, self.backup)
        self.test.complete('restore', other, self.backup)
        self.test.assertEqual('first', self.test.read(other))


class CreateContinue(Create):
    METHOD = 'create_backup_continue'

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.create_backup(*self.args)


class CreateOfNothing(_Backup):
    METHOD, RAISES = 'create_backup', errors.Final

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.test.a_share(), self.backup)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual('first', self.test.read(self.share))


class Restore(_Backup):
    METHOD = 'restore_backup'

    def arrange(self) -> None:
        super().arrange()
        self.backup = self.test.made_backup(self.share)
        self.args = (self.share, self.backup)
        self.test.write(self.share, 'later')

    def verify(self, answer: Any) -> None:
        self.test.complete('restore', self.share, self.backup)
        self.test.assertEqual(('first', 1), (self.test.read(self.share), self.test.limit(self.share)))


class RestoreContinue(Restore):
    METHOD = 'restore_backup_continue'

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.restore_backup(*self.args)


class RestoreOfNothing(CreateOfNothing):
    METHOD = 'restore_backup'

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.share, self.test.a_backup())


class Delete(_Backup):
    METHOD = 'delete_backup'

    def arrange(self) -> None:
        super().arrange()
        self.backup = self.test.made_backup(self.share)
        self.args = (self.backup,)

    def verify(self, answer: Any) -> None:
        self.test.assertIsNone(answer)
        self.test.assertRaises(errors.Final, self.test.driver.restore_backup, self.share, self.backup)
        self.test.assertEqual('first', self.test.read(self.share))


class DeleteBegun(Delete):
    def arrange(self) -> None:
        _Backup.arrange(self)
        self.test.driver.create_backup(*self.args)
        self.args = (self.backup,)


#: Every call about backups.
BACKUP_CASES = (
    Create,
    CreateContinue,
    CreateOfNothing,
    Restore,
    RestoreContinue,
    RestoreOfNothing,
    Delete,
    DeleteBegun,
)


class EveryBackupCall(calls.EveryCall):
    """Mixin for a ``base.Binding`` with ``KeepsBackups``."""

    scenarios = [(case.__name__, {'case_class': case}) for case in BACKUP_CASES]
