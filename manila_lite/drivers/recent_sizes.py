# SPDX-License-Identifier: Apache-2.0
"""Sizes of shares that were just set: a request to ensure the share may still carry the old one."""


class RecentSizes:
    """The latest size of each share that this process set, in GiB. Safe for threads."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}

    def remember(self, share_id: str, size: int) -> None:
        """Remember a size that was just set."""
        self._sizes[share_id] = size

    def forget(self, share_id: str) -> None:
        """Forget the size of a deleted or unmanaged share."""
        self._sizes.pop(share_id, None)

    def get(self, share_id: str) -> int | None:
        """Return the size that was set last, or None."""
        return self._sizes.get(share_id)
