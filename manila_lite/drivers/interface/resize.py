# SPDX-License-Identifier: Apache-2.0
"""The ability to resize a share."""

import abc

from manila_lite import values


class Resizes(abc.ABC):
    """Resizing of shares while clients use them."""

    @abc.abstractmethod
    def extend_share(self, share: values.Share, new_size: int) -> None:
        """Raise the share's limit to ``new_size`` GiB."""

    @abc.abstractmethod
    def shrink_share(self, share: values.Share, new_size: int) -> None:
        """Lower the share's limit to ``new_size`` GiB without loss of data.

        :raises errors.RefusedShrink: the share holds more than ``new_size``; nothing was changed.
        """
