# SPDX-License-Identifier: Apache-2.0
"""The contract of every backend driver.

Rules for all calls:

* Each may be called twice with the same arguments, and again after a process died half way; the second call finds the
  work done, or finishes it.
* ``errors.Final`` means that trying again cannot help. Any other exception is taken as "perhaps still running": the
  caller keeps the operation and calls again.
* A missing share or snapshot, an id that is no safe file name, an unknown pool and an unsupported protocol are
  ``errors.Final``. Deleting a missing resource, and removing all rules from one, counts as success.
* A driver never sees the database, the bus or an operation: data in, data out.
* Calls come from several threads at once, but never two for the same share. Only ``update_access`` may run beside any
  other call. ``servers.py`` has the like rule for share servers.
* On a backend that makes share servers every share comes with its ``server``, as it is stored at that time. A share
  without a server, or on a server that was not set up, is ``errors.Final`` too, but can be deleted.
"""

import abc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from oslo_config import cfg

from manila_lite import values


class Backend:
    """A configured backend: its name, its options and its own state directory.

    ``conf`` is the option group named like the backend; ``host`` is ``host@backend``.
    """

    def __init__(self, name: str, host: str, conf: Any, state_dir: Path):
        self.name = name
        self.host = host
        self.conf = conf
        self.state_dir = state_dir


class ShareDriver(abc.ABC):
    """A backend that can hold shares. Each further ability is another abstract class."""

    #: Options registered under the backend's group before the driver is made. Those with ``mutable`` may change while it
    #: runs: read them from ``backend.conf`` at each use. The others need a restart.
    OPTIONS: ClassVar[Sequence[cfg.Opt]] = ()
    #: Whether shares are on share servers that this driver makes. A driver that supports both modes sets it on the
    #: instance, from the option driver_handles_share_servers.
    HANDLES_SHARE_SERVERS: bool = False
    #: Supported protocols, in upper case. A driver whose protocols depend on installed packages or on its configuration
    #: sets them on the instance.
    PROTOCOLS: frozenset[str] = frozenset({'NFS'})
    #: The types of access rules that it takes, by protocol. Requests for others are refused, and never reach it.
    #: A protocol that is missing takes all types.
    ACCESS_TYPES: ClassVar[Mapping[str, Sequence[str]]] = {}

    def __init__(self, backend: Backend):
        self.backend = backend

    @classmethod
    def check(cls, backend: Backend) -> Sequence[values.Problem]:
        """Return problems of this machine that keep the driver from working; empty when the driver can start. No side
        effects.
        """
        return ()

    @abc.abstractmethod
    def setup(self) -> None:
        """Make the backend ready: mount its pools, start its daemons. Adopts daemons that already run.

        :raises errors.Final: with one line that says what is wrong and what to do.
        """

    def shutdown(self) -> None:
        """Release threads and connections. Shares stay mounted and exported."""

    @abc.abstractmethod
    def report(self) -> Sequence[values.Pool]:
        """Return the present capacity and capabilities of every pool. Must be quick; called once a minute."""

    @abc.abstractmethod
    def create_share(self, share: values.Share) -> Sequence[values.ExportLocation]:
        """Create an empty share of ``share.size`` GiB without access rules.

        Returns the export locations, preferred first.
        """

    @abc.abstractmethod
    def delete_share(self, share: values.Share) -> None:
        """Delete the share with its exports and its data. A missing share counts as success."""

    @abc.abstractmethod
    def update_access(
        self, share: values.Share, rules: Sequence[values.AccessRule]
    ) -> Mapping[str, values.RuleResult]:
        """Make exactly ``rules`` the access rules of the share: all others are revoked, also for open sessions.

        Returns a result for every rule, by rule id. A rule that the backend cannot express gets an ``error`` and grants
        nothing; the other rules still apply.
        """

    @abc.abstractmethod
    def ensure_shares(self, targets: Sequence[values.EnsureTarget]) -> Mapping[str, values.EnsureResult]:
        """Bring back the mount, the export and the rules of each share, if a reboot or a crash lost them.

        Returns a result for every target, by ``share.id``. A share whose data is missing gets an ``error``; no data is
        created anew. Exports that are in order are not touched, so that working clients notice nothing, and
        ``repaired`` lists only real repairs. Where the rules in force differ, apply ``target.rules_now()``, and let no
        ``update_access`` of the share in between: a client may have been denied since the call began. A target without a
        result is unchanged, and the caller asks again. The driver bounds how many shares it works on at a time;
        ``EnsuresOneByOne`` does so for drivers without a way of their own.
        """

    def inspect_shares(self, targets: Sequence[values.EnsureTarget]) -> Mapping[str, values.EnsureResult]:
        """Return the repairs that ``ensure_shares`` would make, or an error, and change nothing.

        A share that the driver cannot inspect has no result.
        """
        return {}

    def fingerprint(self) -> Mapping[str, str]:
        """Return values from the backend and its configuration that shares depend on, by any names.

        Must be quick; called every few seconds. When a value changes all shares are ensured, so that for instance their
        export locations follow.
        """
        return {}
