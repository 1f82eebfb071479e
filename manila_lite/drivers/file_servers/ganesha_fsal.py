# SPDX-License-Identifier: Apache-2.0
"""The storage below one NFS-Ganesha, which reaches it by a plug-in ("FSAL"): the interface that each driver implements."""

import abc
from collections.abc import Mapping, Sequence
from pathlib import Path


class Fsal(abc.ABC):
    """The storage of one NFS server. All texts are parts of NFS-Ganesha's configuration."""

    #: Message for an export that is not served, since ``safe`` is false.
    UNSAFE = ''

    #: The folder of the plug-ins.
    plugins: Path
    #: Environment variables for the server.
    env: Mapping[str, str] = {}
    #: Further blocks for the whole server, and further settings for every export.
    conf = defaults = ''

    def wrap(self, words: Sequence[str]) -> list[str]:
        """Return the words that start the server with these words."""
        return list(words)

    @abc.abstractmethod
    def recovery(self, state_dir: Path) -> str:
        """Return the settings for the place of the clients' records, which outlive the server. ``state`` is its folder."""

    def install(self) -> None:
        """Make everything ready for a starting server.

        :raises CommandFailed: that is not possible.
        """

    @property
    def safe(self) -> bool:
        """Say whether the server, which exports something, keeps clients inside the exports that they may use."""
        return True

    @abc.abstractmethod
    def block(self, name: str) -> str:
        """Return the FSAL block of an export, on one line.

        :raises CommandFailed: it is not known now.
        """

    @abc.abstractmethod
    def name_of(self, path: str) -> str:
        """Return the name of the export with this path, '' if the path does not tell."""
