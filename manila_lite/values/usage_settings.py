# SPDX-License-Identifier: Apache-2.0
"""What is done when a share fills up: extra specs of its type, and metadata of the same names, which comes first."""

import dataclasses
import re
from collections.abc import Callable, Mapping

WARN_AT, GROW_BY, GROW_TO, GROW_AT = 'usage:warn_at', 'usage:grow_by', 'usage:grow_to', 'usage:grow_at'
#: Percent by which a share must fall below a threshold before it can cross it once more.
_FALL = 5
_ALL, _GIB = 100, 1 << 30
_NEVER = 'never'


def _percent(text: str) -> str:
    if not re.fullmatch(r'[0-9]{1,2}|100', text.strip(), re.ASCII) or not int(text):
        raise ValueError(f'must be a percentage from 1 to 100, not {text!r}')
    return str(int(text))


def _percents(text: str) -> str:
    if text.strip().lower() == _NEVER:
        return _NEVER
    try:
        return ','.join(_percent(part) for part in text.split(','))
    except ValueError:
        raise ValueError(
            f'must be percentages separated by commas, such as 80,90,95, or "never", not {text!r}'
        ) from None


def _size(text: str) -> str:
    if not re.fullmatch(r'[0-9]{1,10}', text.strip(), re.ASCII) or not 0 < int(text) < 2**31:
        raise ValueError(f'must be a size in GiB, at least 1, not {text!r}')
    return str(int(text))


#: Each setting with the function that returns its value as it is stored. A ValueError says why a value is refused.
READ: Mapping[str, Callable[[str], str]] = {
    WARN_AT: _percents,
    GROW_BY: _size,
    GROW_TO: _size,
    GROW_AT: _percent,
}


@dataclasses.dataclass(frozen=True)
class UsageSettings:
    """The settings of a share. Sizes are in GiB. It grows only with ``grow_by`` and ``grow_to``.

    ``by_owner``: its growth is of the owner's making, at least in part.
    """

    warn_at: tuple[int, ...] = (80, 90, 95)
    grow_by: int = 0
    grow_to: int = 0
    grow_at: int = 90
    by_owner: bool = False

    @classmethod
    def of(cls, specs: Mapping[str, str], metadata: Mapping[str, str]) -> 'UsageSettings':
        """Return the settings by the extra specs of the type and the metadata of the share. Values that make no sense, which
        may be older than their meaning, count for nothing.
        """
        texts = {**_readable(specs), **_readable(metadata)}
        wanted = texts.get(WARN_AT, '80,90,95')
        return cls(
            warn_at=() if wanted == _NEVER else tuple(sorted(map(int, wanted.split(',')))),
            grow_by=int(texts.get(GROW_BY, 0)),
            grow_to=int(texts.get(GROW_TO, 0)),
            grow_at=int(texts.get(GROW_AT, 90)),
            by_owner=not {GROW_BY, GROW_TO, GROW_AT}.isdisjoint(_readable(metadata)),
        )

    def threshold(self, percent: float, told: int) -> int:
        """Return the highest threshold that counts as crossed; ``told`` is the one before, and stays until the share has
        fallen well below it. 0: none.
        """
        crossed = max((one for one in self.warn_at if percent >= one), default=0)
        return crossed if crossed > told or percent < told - _FALL else told

    def is_to_grow(self, used_bytes: int, size: int) -> bool:
        """Say whether a share of this size, with so many bytes in it, is to grow."""
        return bool(self.grow_by and size < self.grow_to) and self._is_full(used_bytes, size)

    def size_for(self, used_bytes: int, size: int) -> int:
        """Return the size to which it grows: as many steps as it takes, and no more than ``grow_to``."""
        enough = used_bytes * _ALL // (self.grow_at * _GIB) + 1
        steps = max(0, -(-(enough - size) // self.grow_by))
        return max(size, min(size + steps * self.grow_by, self.grow_to))

    def _is_full(self, used_bytes: int, size: int) -> bool:
        return used_bytes * _ALL >= self.grow_at * size * _GIB


def _readable(texts: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for name, read in READ.items():
        try:
            found[name] = read(texts[name])
        except (KeyError, ValueError):
            continue
    return found
