# SPDX-License-Identifier: Apache-2.0
"""Operations on backups. The deletion of one carries nothing of its own."""

import dataclasses

from manila_lite.operation_data.copies import Copying


@dataclasses.dataclass(kw_only=True)
class CopyBackup(Copying):
    """``share_backups.CREATE`` and ``share_backups.RESTORE``: the copy from or to the share.

    ``let_in``: the address of the client that copies, which the share admits.
    """

    share_id: str
    let_in: str | None = None
