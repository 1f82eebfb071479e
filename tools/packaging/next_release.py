# SPDX-License-Identifier: Apache-2.0
"""Make packages of a later version, to try upgrades: tools/packaging/next_release.py DIRECTORY DEB...

Their configuration files have one more line.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

#: Added to the version, and to each configuration file.
SUFFIX = '+next'
LINE = '# A line of the next release.\n'


def make(deb: Path, folder: Path) -> Path:
    """Write the later package to ``folder``; return its path."""
    with tempfile.TemporaryDirectory() as draft:
        tree = Path(draft, 'tree')
        subprocess.run(['dpkg-deb', '--raw-extract', deb, tree], check=True)
        name, version, rest = deb.name.split('_')
        control = tree / 'DEBIAN/control'
        control.write_text(control.read_text().replace(version, version + SUFFIX))
        if (listed := tree / 'DEBIAN/conffiles').exists():
            for path in listed.read_text().split():
                with (tree / path.lstrip('/')).open('a') as file:
                    file.write(LINE)
        target = folder / f'{name}_{version}{SUFFIX}_{rest}'
        subprocess.run(
            ['dpkg-deb', '--root-owner-group', '-Znone', '--build', tree, target],
            check=True,
            capture_output=True,
        )
        return target


if __name__ == '__main__':
    for deb in sys.argv[2:]:
        make(Path(deb), Path(sys.argv[1]))
