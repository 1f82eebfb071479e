# SPDX-License-Identifier: Apache-2.0
"""Loading of filters and weighers by their entry points."""

from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint
from typing import Any, TypeVar

from stevedore import extension, named

from manila_lite import errors

Kind = TypeVar('Kind')


def classes(option: str, names: Sequence[str], kind: type[Kind]) -> list[type[Kind]]:
    """Return the classes behind the entry points that the option names, in this order.

    The option of section ``scheduler`` is called like the entry point group: ``filters`` or ``weighers``.

    :raises errors.BadConfig: a name is not known or given twice, cannot be imported, or is of another kind.
    """
    group = f'manila_lite.scheduler.{option}'
    known = sorted(set(extension.ExtensionManager(group).entry_points_names()))
    for name in names:
        if name not in known:
            raise errors.BadConfig(
                f'[scheduler] {option}: no such {kind.__name__.lower()}: {name}; '
                f'known: {", ".join(known) or "none"}'
            )
        if names.count(name) > 1:
            raise errors.BadConfig(f'[scheduler] {option}: {name} is given twice')
    plugins = named.NamedExtensionManager(
        group, list(names), name_order=True, on_load_failure_callback=_failed(option)
    )
    for entry in plugins:
        if not (isinstance(entry.plugin, type) and issubclass(entry.plugin, kind)):
            raise errors.BadConfig(
                f'[scheduler] {option}: {entry.name} is no {kind.__name__} but {entry.plugin!r}'
            )
    return [entry.plugin for entry in plugins]


def _failed(option: str) -> Callable[[Any, EntryPoint, BaseException], None]:
    def fail(_manager: Any, entry: EntryPoint, error: BaseException) -> None:
        raise errors.BadConfig(f'[scheduler] {option}: {entry.name} cannot be loaded: {error}') from error

    return fail
