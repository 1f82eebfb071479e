# SPDX-License-Identifier: Apache-2.0
"""Put the Python environment of the packages below a directory: tools/packaging/environment.py TARGET

It has manila_lite from this tree, and what it and its extras need, copied from the environment that runs this: the same
versions as in the tests, and nothing is downloaded. Commands are in usr/bin; the rest is in usr/lib/manila-lite, for Debian's
own Python.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path, PurePath

import closure

#: Where the environment is on the machine that gets the packages.
HOME = PurePath('/usr/lib/manila-lite')
#: Debian's own Python, which runs it.
PYTHON = PurePath('/usr/bin/python3')
_VERSION = f'{sys.version_info.major}.{sys.version_info.minor}'
#: What only installers read.
_OF_INSTALLERS = {'RECORD', 'INSTALLER', 'REQUESTED', 'direct_url.json'}
_SCRIPT = """#!{home}/bin/python3 -I
import sys

from stevedore import _cache

# By default it is in the home directory of the user. The package's postinst fills this one.
_cache._c._dir = '{home}/cache'

from {module} import {name}

sys.exit({name}())
"""


def place(target: Path) -> None:
    """Put the environment and its commands below ``target``."""
    home = target / HOME.relative_to('/')
    packages = home / 'lib' / f'python{_VERSION}' / 'site-packages'
    packages.mkdir(parents=True)
    (home / 'bin').mkdir()
    (home / 'bin/python3').symlink_to(os.path.relpath(PYTHON, HOME / 'bin'))
    (home / 'pyvenv.cfg').write_text(
        f'home = {PYTHON.parent}\ninclude-system-site-packages = false\nversion = {_VERSION}\n'
    )
    found, lacking = closure.closure(closure.wanted())
    if lacking:
        sys.exit(f'{sys.prefix} lacks {", ".join(lacking)}: tools/setup-env --python --packages')
    for there in found.values():
        copy(there, packages)
    own(packages)
    scripts(packages, target / 'usr/bin')


def is_shipped(path: PurePath) -> bool:
    """Say whether a file of a distribution is needed at run time: not commands, tests, and compiled or installer's files."""
    return not (
        '..' in path.parts
        or '__pycache__' in path.parts
        or 'tests' in path.parts[1:-1]
        or (path.parent.suffix == '.dist-info' and path.name in _OF_INSTALLERS)
    )


def copy(there: metadata.Distribution, packages: Path) -> None:
    """Copy the files of a distribution."""
    if there.files is None:
        sys.exit(f'nobody knows the files of {there.name}, so it cannot be copied: make the environment anew')
    for file in filter(is_shipped, there.files):
        (packages / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(there.locate_file(file), packages / file)
        (packages / file).chmod(0o644)


def own(packages: Path) -> None:
    """Unpack a wheel of this tree."""
    with tempfile.TemporaryDirectory() as draft:
        subprocess.run(
            [
                sys.executable,
                '-m',
                'pip',
                '--quiet',
                '--disable-pip-version-check',
                'wheel',
                '--no-deps',
                '--no-index',
                '--no-build-isolation',
                '--wheel-dir',
                draft,
                closure.ROOT,
            ],
            check=True,
            stdin=subprocess.DEVNULL,
        )
        (wheel,) = Path(draft).glob('*.whl')
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if is_shipped(PurePath(name)) and not PurePath(name).parts[0].endswith('.data'):
                    archive.extract(name, packages)


def scripts(packages: Path, target: Path) -> None:
    """Write the commands of manila_lite."""
    (mine,) = (there for there in metadata.distributions(path=[str(packages)]) if there.name == 'manila-lite')
    target.mkdir(parents=True)
    for entry in mine.entry_points.select(group='console_scripts'):
        (target / entry.name).write_text(_SCRIPT.format(home=HOME, module=entry.module, name=entry.attr))
        (target / entry.name).chmod(0o755)


if __name__ == '__main__':
    place(Path(sys.argv[1]))
