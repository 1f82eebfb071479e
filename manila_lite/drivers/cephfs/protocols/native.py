# SPDX-License-Identifier: Apache-2.0
"""CEPHFS: clients mount a share from the cluster itself, with an auth id and its key.

An access rule of the type cephx names an id. Ceph makes the id with its key when the first share is opened to it, and
confines it to the directory and the RADOS namespace of each share. The id belongs to the project of the rule: the cluster
notes it as the tenant, and refuses the id to everyone else. Ids that exist outside of this are never touched.
"""

import errno
import fnmatch
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from manila_lite import values
from manila_lite.drivers.cephfs.cluster.answers import Refused
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.cephfs.protocols import monitors
from manila_lite.drivers.cephfs.protocols.protocol import Protocol, tried_until_done
from manila_lite.drivers.cephfs.volumes.auth_ids import AuthIds, noted
from manila_lite.drivers.cephfs.volumes.evictions import planned
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolume, Subvolumes
from manila_lite.drivers.interface import Backend

_TYPE = 'cephx'
#: Levels of rules, as Ceph names them.
_LEVELS = {'rw': 'rw', 'ro': 'r'}
_TAKEN = (
    'Ceph id {} is not free: it is in use by another project, or outside of this service. Choose another id.'
)
#: Auth ids that a rule may name: no quoting, no path and no option in any file or command.
_SAFE_AUTH_ID = re.compile(r'[A-Za-z0-9_][A-Za-z0-9_-]{0,127}')
_SAFE_TENANT = re.compile(r'[A-Za-z0-9_-]{1,64}')


class Native(Protocol):
    """Native clients."""

    NAME = 'CEPHFS'

    def __init__(self, backend: Backend, cluster: Cluster, subvolumes: Subvolumes):
        super().__init__(backend, cluster, subvolumes)
        self._ids = AuthIds(subvolumes)
        self._own_id = Identity.of(backend.conf).auth_id
        self._monitors: dict[int, tuple[str, ...]] = {}

    def set_up(self) -> None:
        self._read_monitors()

    def keep_up(self) -> None:
        """Read the addresses of the monitors anew: they may move. Keep out clients that lost their access."""
        self._read_monitors()
        super().keep_up()

    def _read_monitors(self) -> None:
        self._monitors = monitors.by_family(self.cluster.monitor('mon dump'))

    # Exports ----------------------------------------------------------------------------------

    def export_locations(self, share: values.Share, subvolume: Subvolume) -> list[values.ExportLocation]:
        """Return one location for each IP version: all monitors, and the path of the share."""
        if not self._monitors:
            self._read_monitors()
        options = self._mount_options.get(self.NAME)
        more = {values.MOUNT_OPTIONS: options} if options else {}
        return [
            values.ExportLocation(
                f'{",".join(addresses)}:{subvolume.path}', preferred=number == 0, metadata=more
            )
            for number, addresses in enumerate(self._monitors.values())
        ]

    @property
    def _mount_options(self) -> dict[str, str]:
        """The mount options that the kernel's clients need, by protocol: the file system, where the operator names it."""
        name = self.backend.conf.cephfs_filesystem_name
        return {self.NAME: f'fs={name}'} if name else {}

    def capabilities(self) -> Mapping[str, Any]:
        return {
            'ipv4_support': 4 in self._monitors,
            'ipv6_support': 6 in self._monitors,
            values.MOUNT_OPTIONS: self._mount_options,
        }

    def dependencies(self) -> Mapping[str, str]:
        return {'monitors': str(self._monitors)}

    # Access -----------------------------------------------------------------------------------

    def apply(
        self, share: values.Share, subvolume: Subvolume, rules: Sequence[values.AccessRule]
    ) -> dict[str, values.RuleResult]:
        """Shut out the ids that lose something, then let the others in. Returns the key of each id."""
        wanted, results = self._sorted(rules)
        with tried_until_done(share.id):
            present = self._settled(share, subvolume, wanted)
            losing = planned(subvolume.marks) | {
                auth_id
                for auth_id, level in present.items()
                if auth_id not in wanted or (level, wanted[auth_id].level) == ('rw', 'ro')
            }
            results |= self._shut_out(share, subvolume.name, losing, present, wanted)
            self._ids.note(subvolume.name, noted(subvolume.marks), wanted.keys())
            if losing:
                self.evictions.done(subvolume.name, losing)
        for auth_id, rule in wanted.items():
            if auth_id not in losing:
                results[rule.id] = self._let_in(share, subvolume.name, rule, present.get(auth_id))
        self._ids.note(
            subvolume.name, wanted.keys(), {rule.to for rule in wanted.values() if not results[rule.id].error}
        )
        return results

    def _settled(
        self, share: values.Share, subvolume: Subvolume, wanted: Mapping[str, values.AccessRule]
    ) -> dict[str, str]:
        """Return the ids that the subvolume is open to, with their levels. Those of which that is not known, since a manager of
        the cluster died, are let in: then they can be shut out. Those that are wanted will be let in anyway.
        """
        present = self._ids.levels(subvolume.name)
        for auth_id in sorted(
            noted(subvolume.marks) - present.keys() - wanted.keys() - planned(subvolume.marks)
        ):
            try:
                self._ids.let_in(subvolume.name, auth_id, _LEVELS['ro'], _tenant(share.project_id))
            except Refused as refused:
                if refused.number != errno.EPERM:
                    raise
            else:
                present[auth_id] = _LEVELS['ro']
        return present

    def _sorted(
        self, rules: Sequence[values.AccessRule]
    ) -> tuple[dict[str, values.AccessRule], dict[str, values.RuleResult]]:
        """Return the rules that can be granted, by auth id, and the results of the others."""
        wanted: dict[str, values.AccessRule] = {}
        results: dict[str, values.RuleResult] = {}
        for rule in rules:
            objection = self._objection(rule) or (
                f'Ceph id {rule.to} has another rule.' if rule.to in wanted else None
            )
            if objection:
                results[rule.id] = values.RuleResult(error=objection)
            else:
                wanted[rule.to] = rule
        return wanted, results

    def _objection(self, rule: values.AccessRule) -> str | None:
        if rule.type != _TYPE:
            return f'A share of the protocol {self.NAME} is opened by rules of the type {_TYPE} only, not {rule.type}.'
        if rule.level not in _LEVELS:
            return f'There is no access level {rule.level} here, only rw and ro.'
        if not _SAFE_AUTH_ID.fullmatch(rule.to):
            return f'{rule.to!r} is no Ceph id for a rule: use 1 to 128 letters, digits, _ and -, and begin without a -.'
        reserved = self.backend.conf.cephfs_reserved_auth_ids
        if rule.to == self._own_id or any(fnmatch.fnmatchcase(rule.to, one) for one in reserved):
            return _TAKEN.format(rule.to)
        return None

    def _shut_out(
        self,
        share: values.Share,
        name: str,
        losing: frozenset[str],
        present: Mapping[str, str],
        wanted: Mapping[str, values.AccessRule],
    ) -> dict[str, values.RuleResult]:
        """Take access away from these ids, and end their sessions. Return the results of the rules that they still have."""
        results = {}
        if losing:
            self.evictions.plan(name, losing)
        for auth_id in sorted(losing):
            if auth_id in wanted:
                results[wanted[auth_id].id] = self._let_in(share, name, wanted[auth_id], present.get(auth_id))
            else:
                self._ids.shut_out(name, auth_id)
            self.sessions.evict(auth_id)
        return results

    def _let_in(
        self, share: values.Share, name: str, rule: values.AccessRule, had: str | None
    ) -> values.RuleResult:
        """Give the id of the rule its level. ``had``: the level that it has already, if any."""
        if had is None and rule.to in self._managers():
            return values.RuleResult(error=_TAKEN.format(rule.to))
        try:
            key = self._ids.let_in(name, rule.to, _LEVELS[rule.level], _tenant(share.project_id))
        except Refused as refused:
            if refused.number != errno.EPERM:
                raise
            if had == _LEVELS[rule.level]:
                return values.RuleResult()  # of another project, which had the share before
            if had:
                self.evictions.plan(name, {rule.to})
                self._ids.shut_out(name, rule.to)
                self.sessions.evict(rule.to)
                self.evictions.done(name, {rule.to})
            return values.RuleResult(error=_TAKEN.format(rule.to))
        return values.RuleResult(access_key=key)

    def _managers(self) -> set[str]:
        """Return the names of the managers of the cluster. To end the sessions of an id ends those of its namesake, too."""
        told = self.cluster.monitor('mgr dump')
        return {told.get('active_name'), *(one.get('name') for one in told.get('standbys', ()))}

    def vet(self, rules: Sequence[values.AccessRule]) -> dict[str, values.RuleResult]:
        wanted, results = self._sorted(rules)
        return results | {rule.id: values.RuleResult() for rule in wanted.values()}

    def confirm(
        self, share: values.Share, subvolume: Subvolume, rules: Sequence[values.AccessRule]
    ) -> dict[str, values.RuleResult]:
        """Return the key of each id: the service may have died before it stored a new one."""
        wanted, results = self._sorted(rules)
        return results | {
            rule.id: self._let_in(share, subvolume.name, rule, _LEVELS[rule.level])
            for rule in wanted.values()
        }

    def defects(
        self, share: values.Share, subvolume: Subvolume, rules: Sequence[values.AccessRule]
    ) -> list[str]:
        """Return which ids have not the access that the rules say."""
        wanted, _ = self._sorted(rules)
        should = {(auth_id, _LEVELS[rule.level]) for auth_id, rule in wanted.items()}
        different = {auth_id for auth_id, _ in should ^ set(self._ids.levels(subvolume.name).items())}
        return [
            f'The access of Ceph id {auth_id} was not that of its rule.'
            for auth_id in sorted(
                different | planned(subvolume.marks) | (noted(subvolume.marks) - wanted.keys())
            )
        ]

    def forget(self, share: values.Share, subvolume: Subvolume) -> None:
        """Shut all ids out. One that is left could be given to nobody else."""
        self.apply(share, subvolume, ())


def _tenant(project_id: str) -> str:
    """Return the project as it is noted in the cluster. Ids of projects are safe; any other text is digested."""
    return (
        project_id if _SAFE_TENANT.fullmatch(project_id) else hashlib.sha256(project_id.encode()).hexdigest()
    )
