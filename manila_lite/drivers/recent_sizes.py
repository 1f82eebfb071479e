# SPDX-License-Identifier: Apache-2.0
"""Sizes of shares: those that were just set, since a request to ensure the share may still carry the old one; and those that an
administrator gives.
"""

from collections.abc import Mapping

from manila_lite import errors

#: The driver option with the size of a share that is managed.
SIZE = 'size'


def given(options: Mapping[str, str]) -> int | None:
    """Return the size in GiB that an administrator gives for a share to manage, if any. There are no other options.

    :raises errors.Final: an option is invalid.
    """
    if unknown := sorted(set(options) - {SIZE}):
        raise errors.Final(f'There is no driver option {unknown[0]} here, only {SIZE}, in GiB.')
    wanted = options.get(SIZE)
    if wanted is not None and not (wanted.isascii() and wanted.isdigit() and 0 < int(wanted) < 2**31):
        raise errors.Final(f'{wanted!r} is not a size in GiB.')
    return None if wanted is None else int(wanted)


class RecentSizes:
    """The latest size of each share that this process set, in GiB. Safe for threads."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}

    def remember(self, share_id: str, size: int) -> None:
        self._sizes[share_id] = size

    def forget(self, share_id: str) -> None:
        """Forget the size of a deleted or unmanaged share."""
        self._sizes.pop(share_id, None)

    def get(self, share_id: str) -> int | None:
        return self._sizes.get(share_id)
