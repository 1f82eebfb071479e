# SPDX-License-Identifier: Apache-2.0
"""The contract with backends: one ability per file, each an abstract class."""

from manila_lite import kinds
from manila_lite.drivers.interface.base import Backend, ShareDriver
from manila_lite.drivers.interface.resize import Resizes
from manila_lite.drivers.interface.snapshots import Clones, Reverts, Snapshots

__all__ = ['ABILITIES', 'Backend', 'Clones', 'Resizes', 'Reverts', 'ShareDriver', 'Snapshots', 'abilities_of']

#: Which abstract class gives which ability.
ABILITIES: dict[type, kinds.Ability] = {
    Resizes: kinds.Ability.RESIZE,
    Snapshots: kinds.Ability.SNAPSHOT,
    Clones: kinds.Ability.CREATE_FROM_SNAPSHOT,
    Reverts: kinds.Ability.REVERT,
}


def abilities_of(driver: object) -> frozenset[kinds.Ability]:
    """Return what a driver (or a driver class) can do, by the abstract classes it implements."""
    cls = driver if isinstance(driver, type) else type(driver)
    return frozenset(ability for base, ability in ABILITIES.items() if issubclass(cls, base))
