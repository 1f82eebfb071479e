# SPDX-License-Identifier: Apache-2.0
"""Classes behind entry points, which options name."""

from typing import Any

from stevedore import driver, exception, extension

from manila_lite import errors


def names(group: str) -> list[str]:
    """Return the names of the installed entry points of a group, in order."""
    return sorted(set(extension.ExtensionManager(group).entry_points_names()))


def load(group: str, name: str, kind: type, option: str, what: str = 'driver') -> Any:
    """Return the class behind an entry point. Makes no instance of it.

    ``kind``: its base class. ``option`` and ``what`` are for the message: the option with its value, and what it names.

    :raises errors.BadConfig: there is no such entry point, it cannot be imported, or is of another kind.
    """
    try:
        cls: Any = driver.DriverManager(group, name).driver
    except exception.NoMatches:
        raise errors.BadConfig(
            f'{option}: no such {what}; known: {", ".join(names(group)) or "none"}'
        ) from None
    except (exception.MultipleMatches, ImportError, AttributeError) as broken:
        raise errors.BadConfig(f'{option}: cannot be loaded: {broken}') from broken
    if not (isinstance(cls, type) and issubclass(cls, kind)):
        raise errors.BadConfig(f'{option}: {cls!r} is not a {kind.__name__}')
    return cls
