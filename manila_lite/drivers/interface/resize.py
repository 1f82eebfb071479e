# SPDX-License-Identifier: Apache-2.0
"""The ability to change a share's size."""

import abc

from manila_lite import kinds


class Resizes(abc.ABC):
    """Shares can grow and shrink while clients use them."""

    @abc.abstractmethod
    def extend_share(self, share: kinds.Share, new_size: int) -> None:
        """The share's limit is ``new_size`` GiB."""

    @abc.abstractmethod
    def shrink_share(self, share: kinds.Share, new_size: int) -> None:
        """The share's limit is ``new_size`` GiB and no data was lost.

        :raises errors.RefusedShrink: the share holds more than ``new_size``; nothing was changed.
        """
