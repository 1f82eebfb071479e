# SPDX-License-Identifier: Apache-2.0
"""The data of kinds that have no class of their own yet: those of the siblings."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

from manila_lite.operation_data.base import Failure, OperationData


class Untyped(dict[str, Any]):
    """The stored data by key, and the fields that are common to all kinds."""

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the data that are stored like this."""
        return cls(stored)

    def to_json(self) -> dict[str, Any]:
        """Return the data as they are stored."""
        return dict(self)

    @property
    def asked(self) -> int | None:
        return self.get('asked')

    @asked.setter
    def asked(self, count: int) -> None:
        self['asked'] = count

    @property
    def failure(self) -> Failure | None:
        return OperationData.from_json(self).failure

    @failure.setter
    def failure(self, failure: Failure | None) -> None:
        self.pop('failure', None)
        if failure is not None:
            self['failure'] = dataclasses.asdict(failure)

    @property
    def looks(self) -> int:
        return int(self.get('looks', 0))

    @looks.setter
    def looks(self, count: int) -> None:
        self.pop('looks', None)
        if count:
            self['looks'] = count
