# SPDX-License-Identifier: Apache-2.0
"""The release that this process runs. It is read when the process starts: files on the disk may be newer later."""

from importlib import metadata

VERSION = metadata.version('manila-lite')
#: The first release whose services tell theirs (column ``release`` of ``services``).
FIRST_TOLD = '0.2.0'
