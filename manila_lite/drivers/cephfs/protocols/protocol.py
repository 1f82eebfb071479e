# SPDX-License-Identifier: Apache-2.0
"""What a protocol of the cephfs driver does: where clients mount a share, and who may."""

import abc
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.volumes.evictions import Evictions
from manila_lite.drivers.cephfs.volumes.sessions import Sessions
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolume, Subvolumes
from manila_lite.drivers.interface import Backend

LOG = log.getLogger(__name__)

#: Seconds until a client that may still be inside is shut out once more.
_LATER = 10.0


@contextlib.contextmanager
def tried_until_done(share_id: str) -> Iterator[None]:
    """Have what fails in here be tried again for as long as it takes: a client that loses its access may still be inside.

    :raises errors.Again: something failed, whatever it was.
    """
    try:
        yield
    except errors.Again:
        raise
    except Exception as bad:
        LOG.exception(
            'Share %s: a client that loses its access may still be inside. It is tried again until it is not. Look '
            'at "ceph status", and at the sessions of the metadata servers',
            share_id,
        )
        raise errors.Again(_LATER, f'Clients that lose their access may still be inside: {bad}') from bad


class Protocol(abc.ABC):
    """One protocol of one backend. Safe for threads; there are never two calls that change the same share."""

    #: The name, as in requests for shares.
    NAME: ClassVar[str]

    def __init__(self, backend: Backend, cluster: Cluster, subvolumes: Subvolumes):
        self.backend = backend
        self.cluster = cluster
        self.subvolumes = subvolumes
        self.sessions = Sessions(cluster, subvolumes)
        self.evictions = Evictions(cluster, subvolumes, self.sessions)

    @classmethod
    def problems(cls, backend: Backend) -> Iterable[values.Problem]:
        """Return what this machine or the configuration lacks for the protocol. No side effects; asks no cluster."""
        return ()

    @classmethod
    def problems_at(cls, cluster: Cluster, backend: Backend) -> Iterable[values.Problem]:
        """Return requirements of the protocol that the cluster does not meet. No side effects.

        :raises Away: it does not answer.
        """
        return ()

    def set_up(self) -> None:
        """Make the protocol ready: start or adopt its servers, and finish what a crash left. The cluster answers.

        :raises errors.Final: it cannot work; with one line that says why.
        """

    def shut_down(self) -> None:
        """Release threads and connections. Shares stay served."""

    def keep_up(self) -> None:
        """Look after servers, and keep out clients that lost their access. Called once a minute."""
        self.evictions.keep_out()

    def admit(self, share: values.Share) -> None:
        """Check that the protocol can serve one more share, if this is a new one.

        :raises errors.Final: it cannot; the message says what to do.
        """

    def path_of(self, export_path: str) -> str:
        """Return the path in the file system for a path that clients mount, if the two differ."""
        return export_path

    @abc.abstractmethod
    def export_locations(self, share: values.Share, subvolume: Subvolume) -> list[values.ExportLocation]:
        """Return where clients mount the share, preferred first."""

    @abc.abstractmethod
    def apply(
        self, share: values.Share, subvolume: Subvolume, rules: Sequence[values.AccessRule]
    ) -> dict[str, values.RuleResult]:
        """Serve the share to exactly the clients of these rules; all others are shut out at once, also open sessions.

        Returns a result for every rule, as ``ShareDriver.update_access``.
        """

    @abc.abstractmethod
    def vet(self, rules: Sequence[values.AccessRule]) -> dict[str, values.RuleResult]:
        """Return the result for every rule of a share that is in order. Changes nothing, and asks no cluster."""

    def confirm(
        self, share: values.Share, subvolume: Subvolume, rules: Sequence[values.AccessRule]
    ) -> dict[str, values.RuleResult]:
        """Return the result for every rule of a share that is in order, with its key. No client notices."""
        return self.vet(rules)

    @abc.abstractmethod
    def defects(
        self, share: values.Share, subvolume: Subvolume, rules: Sequence[values.AccessRule]
    ) -> list[str]:
        """Return in words what ``apply`` would repair. Changes nothing."""

    @abc.abstractmethod
    def forget(self, share: values.Share, subvolume: Subvolume) -> None:
        """Shut all clients out, and serve the share no more: it is deleted or unmanaged next."""

    def discard(self, share: values.Share) -> None:
        """Serve a share no more whose data is gone already."""

    @abc.abstractmethod
    def capabilities(self) -> Mapping[str, Any]:
        """Return the capabilities of the backend's pools that depend on the protocol."""

    def dependencies(self) -> Mapping[str, str]:
        """Return values that the exports of all shares depend on, as ``ShareDriver.fingerprint``. Must be quick."""
        return {}
