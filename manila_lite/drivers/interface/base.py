# SPDX-License-Identifier: Apache-2.0
"""What every backend driver promises.

Rules for all calls:

* Each may be called twice with the same arguments, and again after a process died half way; the
  second call finds the work done, or finishes it.
* ``errors.Final`` means that trying again cannot help. Any other exception is taken as "perhaps still
  running": the caller keeps the operation and calls again.
* A share or snapshot that is not there, an id that is no safe file name, an unknown pool and a protocol that is not
  served are ``errors.Final``; deleting what is not there, and taking all rules from it, is a success.
* A driver never sees the database, the bus or an operation: data in, data out.
* Calls come from several threads at once, but never two for the same share, except
  ``update_access`` which may run beside any other call. ``servers.py`` says the like of share servers.
* On a backend that makes share servers every share comes with its ``server``, as it is stored at that time.
  A share without one, or on one that was not set up, is ``errors.Final`` too, but can be deleted.
"""

import abc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from oslo_config import cfg

from manila_lite import kinds


class Backend:
    """One configured backend: its name, its options and a directory of its own for state.

    ``conf`` is the option group named like the backend; ``host`` is ``host@backend``.
    """

    def __init__(self, name: str, host: str, conf: Any, state_dir: Path):
        self.name = name
        self.host = host
        self.conf = conf
        self.state_dir = state_dir


class ShareDriver(abc.ABC):
    """A backend that can hold shares. Further abilities are further abstract classes."""

    #: Options registered under the backend's group before the driver is made.
    OPTIONS: ClassVar[Sequence[cfg.Opt]] = ()
    #: Whether shares live on share servers that this driver makes. A driver that can do both says it anew on the
    #: instance, by the option driver_handles_share_servers.
    HANDLES_SHARE_SERVERS: bool = False
    #: Protocols served, in upper case. Likewise for one that serves what is installed or configured.
    PROTOCOLS: frozenset[str] = frozenset({'NFS'})

    def __init__(self, backend: Backend):
        self.backend = backend

    @classmethod
    def check(cls, backend: Backend) -> Sequence[kinds.Problem]:
        """Say what this machine lacks for the driver to work; empty when it can start. No side effects."""
        return ()

    @abc.abstractmethod
    def setup(self) -> None:
        """Make the backend ready: pools mounted, daemons running. Adopts what already runs.

        :raises errors.Final: with one line that says what is wrong and what to do.
        """

    def shutdown(self) -> None:
        """Let go of threads and connections. Shares stay mounted and served."""

    @abc.abstractmethod
    def report(self) -> Sequence[kinds.Pool]:
        """Return the present capacity and capabilities of every pool. Quick; called once a minute."""

    @abc.abstractmethod
    def create_share(self, share: kinds.Share) -> Sequence[kinds.ExportLocation]:
        """An empty share of ``share.size`` GiB exists and is exported to nobody.

        Returns the export locations, preferred first.
        """

    @abc.abstractmethod
    def delete_share(self, share: kinds.Share) -> None:
        """The share, its exports and its data are gone. A share that is not there is a success."""

    @abc.abstractmethod
    def update_access(self, share: kinds.Share,
                      rules: Sequence[kinds.AccessRule]) -> Mapping[str, kinds.RuleResult]:
        """Exactly ``rules`` are in force on the share: others are revoked, also for open sessions.

        Returns a result for every rule, by rule id; a rule that cannot be expressed gets an
        ``error`` and grants nothing, and the others still apply.
        """

    @abc.abstractmethod
    def ensure_shares(self, targets: Sequence[kinds.EnsureTarget]) -> Mapping[str, kinds.EnsureResult]:
        """Each share is mounted, exported and has its rules, whatever was lost since (a reboot, a crash).

        Returns a result for every target, by ``share.id``. A share whose data is missing gets an
        ``error``; nothing is created anew. What is well is not touched, and ``repaired`` tells of nothing else than was
        amiss: clients at work notice no call. One without a result is as it was, and the caller asks again. How many
        are worked on at a time is the driver's to bound; ``EnsuresOneByOne`` does it for one that knows no better way.
        """

    def fingerprint(self) -> Mapping[str, str]:
        """Return what shares depend on in the backend and its configuration, by any names. Quick; asked every few seconds.

        When it changes all shares are ensured, so that for instance their export locations follow.
        """
        return {}
