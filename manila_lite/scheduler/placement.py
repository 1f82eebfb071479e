# SPDX-License-Identifier: Apache-2.0
"""Choice of pools for a request: static filters once per kind of pool, the other filters on the rest, then weights."""

import collections
import dataclasses
import itertools
import math
import random
import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from manila_lite import errors
from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState, Weigher
from manila_lite.values.pools import OF_ONE_POOL

#: A first choice, and replacements in case it fails. No caller tries more.
MOST_CANDIDATES = 20
#: When this many pools passed, no more are tested: the best of so many, taken at random, is good enough.
ENOUGH = 30

_START = 'No storage could be allocated for this share request: '


@dataclasses.dataclass(frozen=True)
class Refusal:
    """How many pools a filter refused, with the reason for one of them. ``detail`` names the user message."""

    filter: str
    detail: str
    pools: int
    reason: str
    example: str


@dataclasses.dataclass(frozen=True)
class Result:
    """The suitable pools, best first, and the refusals of the others. ``asked`` is the number of all pools.

    Refusals are in the order in which filters were asked.
    """

    candidates: list[PoolState]
    refusals: list[Refusal]
    asked: int


class Groups:
    """Pools by signature. A caller that keeps this object between requests saves the grouping."""

    def __init__(self, pools: Iterable[PoolState]):
        self._by_signature: dict[Hashable, dict[str, PoolState]] = collections.defaultdict(dict)
        self._pools = {pool.host: pool for pool in pools}
        for pool in self._pools.values():
            self._by_signature[pool.signature][pool.host] = pool
        self.count = len(self._pools)

    def __iter__(self) -> Iterator[PoolState]:
        return iter(self._pools.values())

    def get(self, host: str) -> PoolState | None:
        """Return the pool of a host string, if it is there."""
        return self._pools.get(host)

    def fits(self, pool: PoolState) -> bool:
        """Say whether there is a pool of that host string with the same signature."""
        return pool.host in self._by_signature.get(pool.signature, ())

    def replace(self, pool: PoolState) -> None:
        """Replace the known state of the pool, if it ``fits``. Other threads may be reading."""
        if self.fits(pool):
            self._by_signature[pool.signature][pool.host] = self._pools[pool.host] = pool

    def alike(self, request: PlacementRequest) -> Iterable[tuple[Hashable, Mapping[str, PoolState]]]:
        """Return pools, by host string, in sets that static filters treat alike, each with the key that its pools share."""
        own = sorted(OF_ONE_POOL.intersection(itertools.chain(*request.all_asked)))
        if not own:
            return self._by_signature.items()
        return (
            ((pool.signature, *(pool.reported[name] for name in own)), {pool.host: pool}) for pool in self
        )


class Placement:
    """Filters and weighers at work. Safe for many threads: only verdicts of static filters are kept."""

    def __init__(
        self,
        filters: Sequence[Filter],
        weighers: Sequence[Weigher],
        *,
        rng: random.Random | None = None,
        cached_requests: int = 256,
        cached_signatures: int = 20_000,
    ):
        self._static = [item for item in filters if item.static]
        self._dynamic = [item for item in filters if not item.static]
        self._weighers = [item for item in weighers if item.multiplier]
        self._rng = rng or random.Random()
        self._verdicts = _Verdicts(cached_requests, cached_signatures)

    def place(self, request: PlacementRequest, pools: Iterable[PoolState] | Groups) -> Result:
        """Return the best pools for the request, the best first. Equal pools are in random order."""
        groups = pools if isinstance(pools, Groups) else Groups(pools)
        tally = _Tally()
        left = self._pass_static(request, groups, tally)
        left = self._pass_dynamic(request, groups, left, tally)
        refusals = tally.refusals((*self._static, *self._dynamic))
        return Result(self._best(request, left), refusals, groups.count)

    def _pass_static(self, request: PlacementRequest, groups: Groups, tally: '_Tally') -> list[PoolState]:
        filters = [item for item in self._static if item.applies(request)]
        known = self._verdicts.of(request.static_key)
        left: list[PoolState] = []
        for signature, members in groups.alike(request):
            if signature not in known:
                known[signature] = _ask(filters, request, next(iter(members.values())))
            verdict = known[signature]
            if verdict is None:
                left.extend(members.values())
            else:
                tally.add(*verdict, next(iter(members.values())), len(members))
        return left

    def _pass_dynamic(
        self, request: PlacementRequest, groups: Groups, pools: list[PoolState], tally: '_Tally'
    ) -> list[PoolState]:
        filters = [item for item in self._dynamic if item.applies(request)]
        for item in filters:
            request = item.prepare(request, groups)
        left: list[PoolState] = []
        for pool in self._shuffled(pools) if len(pools) > ENOUGH else pools:
            verdict = _ask(filters, request, pool)
            if verdict is not None:
                tally.add(*verdict, pool)
                continue
            left.append(pool)
            if len(left) == ENOUGH:
                break
        return left

    def _shuffled(self, pools: list[PoolState]) -> Iterator[PoolState]:
        """Yield the pools in random order. Only the pools that are taken cost time."""
        for last in range(len(pools) - 1, -1, -1):
            index = int(self._rng.random() * (last + 1))
            pools[index], pools[last] = pools[last], pools[index]
            yield pools[last]

    def _best(self, request: PlacementRequest, pools: list[PoolState]) -> list[PoolState]:
        scores = [0.0] * len(pools)
        for weigher in self._weighers:
            weights = normalised(weigher.weigh(request, pools))
            if len(weights) == len(pools) and not any(weights):
                continue
            scores = [
                score + weigher.multiplier * weight for score, weight in zip(scores, weights, strict=True)
            ]
        # The random number orders pools of equal score; the index comes third so that pools are never compared.
        order = [(score, self._rng.random(), index) for index, score in enumerate(scores)]
        order.sort(reverse=True)
        return [pools[index] for _score, _chance, index in order[:MOST_CANDIDATES]]


def why_none(result: Result, *, for_admin: bool = True) -> tuple[str, str]:
    """Return the reason why there is no candidate, as a sentence, and the name of the user message that fits.

    Without ``for_admin``, the pool is not named: ordinary users must not see hosts.
    """
    if not result.asked:
        # Not NO_BACKEND_READY: clients that clean up after a failure know NO_VALID_HOST, as manila-csi does.
        return f'{_START}no backend has reported a pool yet.', 'NO_VALID_HOST'
    if not result.refusals:
        raise ValueError('some pools will do')
    *earlier, last = result.refusals
    before = ', '.join(f'{item.filter} {item.pools}' for item in earlier)
    text = f'{_START}{last.filter} refused {"the last " if before else ""}{last.pools} of {errors.count(result.asked, "pool")}'
    text += f' ({f"pool {last.example}: " if for_admin else ""}{last.reason})'
    return f'{text}{f", after {before}" if before else ""}.', last.detail


def normalised(numbers: Sequence[float]) -> list[float]:
    """Return the numbers scaled to 0..1, all 0 if equal. Infinity is as far above the others as their range is wide."""
    finite = [value for value in numbers if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    if low == high and len(finite) == len(numbers):
        return [0.0] * len(numbers)
    if len(finite) == len(numbers):
        return [(value - low) / (high - low) for value in numbers]
    top = high + (high - low or 1.0) if math.inf in numbers and finite else high
    return [(_clip(value, low, top) - low) / (top - low) if top > low else 0.0 for value in numbers]


def _clip(value: float, low: float, top: float) -> float:
    return value if math.isfinite(value) else top if value > 0 else low


Verdict = tuple[Filter, str] | None


def _ask(filters: Sequence[Filter], request: PlacementRequest, pool: PoolState) -> Verdict:
    for item in filters:
        reason = item.check(request, pool)
        if reason is not None:
            return item, reason
    return None


class _Tally:
    """Counter of refusals by filter, with the first reason of each."""

    def __init__(self) -> None:
        self._pools: collections.Counter[Filter] = collections.Counter()
        self._first: dict[Filter, tuple[str, str]] = {}

    def add(self, item: Filter, reason: str, pool: PoolState, pools: int = 1) -> None:
        self._pools[item] += pools
        self._first.setdefault(item, (reason, pool.host))

    def refusals(self, filters: Sequence[Filter]) -> list[Refusal]:
        return [
            Refusal(item.name, item.detail, self._pools[item], *self._first[item])
            for item in filters
            if item in self._first
        ]


class _Verdicts:
    """Verdicts of static filters, by request and signature. The least recently used requests are forgotten."""

    def __init__(self, requests: int, signatures: int):
        self._requests = requests
        self._signatures = signatures
        self._lock = threading.Lock()
        self._known: collections.OrderedDict[Hashable, dict[Hashable, Verdict]] = collections.OrderedDict()

    def of(self, key: Hashable) -> dict[Hashable, Verdict]:
        """Return the verdicts for such requests, to be read and added to. A verdict stays right for ever."""
        with self._lock:
            verdicts = self._known.get(key)
            if verdicts is None or len(verdicts) > self._signatures:
                verdicts = self._known[key] = {}
            self._known.move_to_end(key)
            if len(self._known) > self._requests:
                self._known.popitem(last=False)
        return verdicts
