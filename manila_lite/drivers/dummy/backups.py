# SPDX-License-Identifier: Apache-2.0
"""Backups of the dummy: each call to continue a copy moves half of it.

A backup is a file in the store of the backend that made it; other dummies on the same host read it there.
"""

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.drivers.dummy.base import DummyBase
from manila_lite.drivers.dummy.knobs import knobbed
from manila_lite.drivers.dummy.store import BackupRecord, Store

_STEP, _ALL = 50, 100


class DummyBackups(DummyBase, interface.BacksUp):
    """The backup part of the driver. The type of a backup makes no difference."""

    @knobbed
    def create_backup(self, share: values.Share, backup: values.Backup) -> None:
        with self.store.locked():
            source = self.store.share(share.id)
            if self.store.backups.get(backup.id) is None:
                self.store.backups.put(BackupRecord(backup.id, source.id, source.content, source.used))

    @knobbed
    def create_backup_continue(self, share: values.Share, backup: values.Backup) -> values.BackupProgress:
        with self.store.locked():
            record = self._record(self.store, backup)
            record.percent = min(record.percent + _STEP, _ALL)
            self.store.backups.put(record)
        return values.BackupProgress(record.percent)

    @knobbed
    def restore_backup(self, share: values.Share, backup: values.Backup) -> None:
        self.store.share(share.id)
        self._restored(share, backup, begin=True)

    @knobbed
    def restore_backup_continue(self, share: values.Share, backup: values.Backup) -> values.BackupProgress:
        record, percent = self._restored(share, backup)
        if percent == _ALL:
            with self.store.locked():
                target = self.store.share(share.id)
                target.content, target.used = record.content, record.used
                self.store.shares.put(target)
        return values.BackupProgress(percent)

    def _restored(
        self, share: values.Share, backup: values.Backup, *, begin: bool = False
    ) -> tuple[BackupRecord, int]:
        """Return the backup, and the percentage of it that is restored to the share after this call."""
        home = self.store if backup.host == self.backend.host else self.store.neighbour(backup.host)
        with home.locked():
            record = self._record(home, backup)
            percent = 0 if begin else min(record.restored.get(share.id, 0) + _STEP, _ALL)
            record.restored[share.id] = percent
            home.backups.put(record)
        return record, percent

    @staticmethod
    def _record(home: Store, backup: values.Backup) -> BackupRecord:
        record = home.backups.get(backup.id)
        if record is None:
            raise errors.Final(f'Backup {backup.id} is not on the backend that created it.')
        return record

    @knobbed
    def delete_backup(self, backup: values.Backup) -> None:
        with self.store.locked():
            self.store.backups.drop(backup.id)
