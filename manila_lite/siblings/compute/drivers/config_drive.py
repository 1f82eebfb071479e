# SPDX-License-Identifier: Apache-2.0
"""The config drive: a read-only disk with the metadata on it, labelled config-2, made anew whenever a guest starts."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from manila_lite.host.commands import run


def make(image: Path, files: Mapping[str, bytes]) -> None:
    """Make the ISO 9660 image with exactly these files, by their path. It replaces the old one when it is complete.

    :raises CommandFailed: xorriso is missing, or failed.
    """
    draft = image.with_suffix('.new')
    draft.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix='config-', dir=image.parent) as folder:
        for path, content in files.items():
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        run('xorriso', '-as', 'mkisofs', '-quiet', '-J', '-r', '-V', 'config-2', '-o', str(draft), folder)
    os.replace(draft, image)
