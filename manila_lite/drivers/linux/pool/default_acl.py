# SPDX-License-Identifier: Apache-2.0
"""The default ACL of a share's top directory, which is set aside while the share is received from another pool.

A stream of the kernel sets this ACL first, and then makes each file in the top directory, to rename it later. Each file
would inherit the ACL: users whom the ACL names could read what they cannot read at the source.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

#: The attribute, and where its value is meanwhile. An empty value: there is no default ACL.
NAME, ASIDE = b'system.posix_acl_default', b'trusted.manila_lite.acls'


def give_back(path: Path) -> None:
    """Have the directory, which is complete, get its default ACL back, if it was set aside."""
    with _unless_missing():
        kept = os.getxattr(path, ASIDE)
        if kept:
            os.setxattr(path, NAME, kept)
        else:
            with _unless_missing():
                os.removexattr(path, NAME)
        os.removexattr(path, ASIDE)


@contextlib.contextmanager
def _unless_missing() -> Iterator[None]:
    try:
        yield
    except OSError as bad:
        if bad.errno != errno.ENODATA:
            raise
