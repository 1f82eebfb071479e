# SPDX-License-Identifier: Apache-2.0
"""Interface of the scheduler: requests, the state of pools, filters and weighers. No I/O.

Sizes are in GiB.
"""

import abc
import dataclasses
import datetime
import functools
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import orjson

from manila_lite import extra_specs
from manila_lite.values import pools

Value = TypeVar('Value')


def host_names(host: str) -> tuple[str, str, str]:
    """Return the pool, the backend and the machine that a host string ``machine@backend#pool`` names."""
    backend = host.partition('#')[0]
    return host, backend, backend.partition('@')[0]


@dataclasses.dataclass(frozen=True)
class PlacementRequest:
    """A request for capacity. ``size`` is what is to be added: all of a new share, the difference when a share grows.

    Hosts may be named as a machine, a backend or a pool. ``excluded`` maps pools that failed for this request to the
    reason. ``source_host`` is the host of the share whose snapshot the new share is made from. ``subnets`` counts the
    subnets of the share network by zone id, those for every other zone under ``None``. For a replica: ``active_host`` is
    the host of the active replica, ``replica_hosts`` are the backends of all replicas, and ``replication_domain`` is found
    by the filter that needs it. ``also``: further sets of extra specs, each of which the pool must satisfy too, as the
    share types of a group have them. A group has no ``proto``; its shares will have one. ``even_disabled``: ``only_host``
    is the hint of an administrator, who may try a backend before it is enabled for all.
    """

    size: int
    extra_specs: Mapping[str, str] = dataclasses.field(default_factory=dict)
    proto: str = 'NFS'
    project_id: str | None = None
    availability_zone: str | None = None
    same_hosts: frozenset[str] = frozenset()
    different_hosts: frozenset[str] = frozenset()
    only_host: str | None = None
    source_host: str | None = None
    excluded: Mapping[str, str] = dataclasses.field(default_factory=dict)
    even_disabled: bool = False
    subnets: Mapping[str | None, int] | None = None
    active_host: str | None = None
    replica_hosts: frozenset[str] = frozenset()
    replication_domain: str | None = None
    also: tuple[Mapping[str, str], ...] = ()

    @functools.cached_property
    def asked(self) -> Mapping[str, str]:
        """The extra specs that ask for capabilities, without their scope."""
        return extra_specs.capability_specs(self.extra_specs)

    @functools.cached_property
    def all_asked(self) -> Sequence[Mapping[str, str]]:
        """The same as ``asked``, for every set of extra specs."""
        return self.asked, *(extra_specs.capability_specs(specs) for specs in self.also)

    @functools.cached_property
    def static_key(self) -> Hashable:
        """All fields of the request that a static filter may use."""
        return (
            frozenset(self.extra_specs.items()),
            self.proto,
            self.availability_zone,
            *(frozenset(specs.items()) for specs in self.also),
        )


@dataclasses.dataclass(frozen=True)
class PoolState:
    """The last report of a pool, and the capacity promised since. Never changed: a new report is a new value.

    ``free_gb`` and ``total_gb`` may be 'infinite' or 'unknown'. ``claimed_gb`` is what the report of this
    ``generation`` does not show yet; ``provisioned_gb``, the sizes of all other shares, does not contain it. ``clock``: why
    its service claims no work, although it is up.
    """

    host: str
    availability_zone: str | None = None
    capabilities: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    total_gb: float | str = 0.0
    free_gb: float | str = 0.0
    reserved_percentage: float = 0
    allocated_gb: float = 0.0
    claimed_gb: float = 0.0
    thin_provisioning: bool = False
    max_over_subscription_ratio: float = 1.0
    provisioned_gb: float = 0.0
    generation: int = 0
    up: bool = True
    disabled: bool = False
    availability_zone_id: str | None = None
    reported_at: datetime.datetime | None = None
    clock: str | None = None

    @property
    def backend(self) -> str:
        """The host string without the pool."""
        return self.host_names[1]

    @functools.cached_property
    def host_names(self) -> tuple[str, str, str]:
        """The pool, its backend and its machine: the names that a hint may call it by."""
        return host_names(self.host)

    @functools.cached_property
    def reported(self) -> Mapping[str, Any]:
        """The capabilities that extra specs are matched with: those that administrators see."""
        return pools.capabilities(self)

    def remembered(self, compute: Callable[['PoolState'], Value]) -> Value:
        """Return ``compute(self)``, computed once: for values that depend on the pool alone and are needed very often."""
        try:
            value: Value = self._remembered[compute]
        except KeyError:
            value = self._remembered.setdefault(compute, compute(self))
        return value

    def promised(self, claimed_gb: float) -> 'PoolState':
        """Return the pool with another figure of promised capacity. Static filters treat it as before."""
        pool = dataclasses.replace(self, claimed_gb=claimed_gb)
        vars(pool)['signature'] = self.signature  # none of its parts has changed
        return pool

    @functools.cached_property
    def _remembered(self) -> dict[Any, Any]:
        return {}

    @functools.cached_property
    def signature(self) -> bytes | str:
        """A key that is equal for two pools that every static filter treats alike, unless the request asks for what is
        ``OF_ONE_POOL``.
        """
        shared = {key: value for key, value in self.capabilities.items() if key not in pools.OF_ONE_POOL}
        parts = [self.availability_zone, self.thin_provisioning, shared]
        try:
            return orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
        except TypeError:
            # A number above 64 bits, or another value that orjson cannot write.
            return json.dumps(parts, sort_keys=True, default=repr)


class Filter(abc.ABC):
    """Base class of filters. A filter refuses pools, with a reason. One instance serves all requests and threads.

    A ``static`` filter uses only ``extra_specs``, ``proto`` and ``availability_zone`` of the request, and
    ``availability_zone``, ``thin_provisioning`` and ``capabilities`` of the pool. Its answers are cached, and given
    again for every pool with the same signature. That holds for ``applies`` too, and ``prepare`` is not called.
    """

    #: The filter's name in messages.
    name: ClassVar[str]
    #: The user message, as in ``db/queries/messages.py``, if this filter refused the last pool.
    detail: ClassVar[str] = 'NO_VALID_HOST'
    static: ClassVar[bool] = False

    def applies(self, request: PlacementRequest) -> bool:
        """Say whether the filter applies to the request. If not, it is not asked about pools."""
        return True

    def prepare(self, request: PlacementRequest, pools: Iterable[PoolState]) -> PlacementRequest:
        """Return the request with the facts about other pools that ``check`` needs. Called only if the filter applies."""
        return request

    @abc.abstractmethod
    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        """Return None if the pool is suitable, or the reason: what was asked and what the pool has, not its name."""


class Weigher(abc.ABC):
    """Base class of weighers. A weigher rates suitable pools. Only the order and the distances count: see ``placement``."""

    def __init__(self, multiplier: float = 1.0):
        self.multiplier = multiplier

    @abc.abstractmethod
    def weigh(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[float]:
        """Return one number for each pool, in order. The highest is the best."""
