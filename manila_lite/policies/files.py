# SPDX-License-Identifier: Apache-2.0
"""The operator's policy files: their content, and whether it is whole.

What counts is their content: a file that was restored has an older time than the one before. A file that is being written is
read when it has been left alone for a moment.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oslo_config import cfg
from oslo_policy import policy

#: Seconds for which a file has not changed that is read.
SETTLED = 0.5


class Unsettled(Exception):
    """A file was changed this moment."""


class Files:
    """The policy file and those in the policy directories, of the options of oslo.policy."""

    def __init__(self, conf: cfg.ConfigOpts):
        self._conf = conf
        #: Files and directories that were there once: they are missed when they are away.
        self._paths: dict[str, Path] = {}

    def texts(self, known: Mapping[Path, str] | None) -> dict[Path, str]:
        """Return the text of each file, in the order in which they count. ``known``: the texts of before, if any.

        :raises Unsettled: another text than before was written this moment.
        :raises ValueError: a file is missing that was there before, or cannot be read.
        """
        found = {}
        for file in self._list():
            try:
                found[file] = file.read_text(encoding='utf-8')
                if (
                    known is not None
                    and found[file] != known.get(file)
                    and abs(time.time() - file.stat().st_mtime) < SETTLED
                ):
                    raise Unsettled
            except FileNotFoundError:
                raise ValueError(f'{file} is missing') from None
            except OSError as bad:
                raise ValueError(f'{file}: {bad.strerror}') from None
            except UnicodeDecodeError:
                raise ValueError(f'{file}: is not UTF-8') from None
        return found

    def _list(self) -> Iterator[Path]:
        if file := self._path_of(self._conf.oslo_policy.policy_file):
            yield file
        for name in self._conf.oslo_policy.policy_dirs:
            if folder := self._path_of(name):
                try:
                    yield from sorted(
                        file
                        for file in folder.iterdir()
                        if not file.name.startswith('.') and not file.is_dir()
                    )
                except OSError as bad:
                    raise ValueError(f'{folder}: {bad.strerror}') from None

    def _path_of(self, name: str) -> Path | None:
        if name not in self._paths and (found := self._conf.find_file(name)):
            self._paths[name] = Path(found)
        return self._paths.get(name)


def parse(texts: Mapping[Path, str]) -> dict[str, Any]:
    """Return the checks in the files by rule, as texts or in oslo.policy's older form of lists.

    :raises ValueError: a text is no policy file; the message names the file.
    """
    checks: dict[str, Any] = {}
    for file, text in texts.items():
        try:
            found: Any = policy.parse_file_contents(text)
        except ValueError as bad:
            raise ValueError(f'{file}: {" ".join(str(bad).split())}') from None
        if not isinstance(found, dict):
            raise ValueError(f'{file}: has no rules with names')  # noqa: TRY004 - a file's mistake
        # A rule without a value, as in half a file, would allow all to everybody.
        for name, check in found.items():
            if not isinstance(name, str) or not isinstance(check, str | list):
                raise ValueError(f'{file}: rule {name} must be a text')  # noqa: TRY004 - a file's mistake
        checks |= found
    return checks
