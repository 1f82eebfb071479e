# SPDX-License-Identifier: Apache-2.0
"""Columns of the table: kinds of deaths and failures, and code that causes them. Each returns its stories with their ends."""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator

from manila_lite.drivers.dummy.store import Store
from manila_lite.tests import turns
from manila_lite.tests.crash import faulty, places, truth
from manila_lite.tests.crash.deployment import ROLES, Deployment
from manila_lite.tests.crash.matrix import ANY, BAD, GOOD, Story, Wave, at_places
from manila_lite.tests.crash.subjects import ALONE, EVACUATIONS, SUBJECTS, Cell, Subject

KILLED, CUT, BROKER = 'process killed', 'database cut off', 'broker killed'
DROPPED, DOUBLED = 'message lost', 'message doubled'
START = 'start of a backend'
_MODES = {DROPPED: 'drop', DOUBLED: 'double'}


#: Cells that wait side by side: of more, the last to be struck would be late for want of a processor alone.
_ABREAST = 90


def _wanted(deployment: Deployment, stories: Iterable[Story]) -> list[Story]:
    """Return those of the stories to whose operations the run is confined."""
    return [
        story for story in stories if not deployment.operations or story.subject.name in deployment.operations
    ]


def _waves(
    deployment: Deployment,
    stories: Iterable[Story],
    strike: Callable[[Wave], None],
    strike_one: Callable[[Wave, Story], None] | None = None,
    mend: Callable[[], None] = lambda: None,
) -> list[Story]:
    """Run the stories, so many at a time, with ``mend`` after each wave; return them with their ends. See ``Wave.run``."""
    struck: list[Story] = []
    left = _wanted(deployment, stories)
    while left:
        wave = Wave(deployment, left[:_ABREAST])
        try:
            struck += wave.run(strike, strike_one)
        finally:
            mend()
        left = left[_ABREAST:] + wave.once_more()
    return struck


def killed(deployment: Deployment, few: bool = False) -> list[Story]:
    """Kill the process at the place."""

    def strike(wave: Wave) -> None:
        # The API comes last: others go on with its work, and may need locks of processes that are held.
        for role in reversed(ROLES):
            wave.kill(role)

    def strike_one(wave: Wave, story: Story) -> None:
        if holder := wave.orders.holder(story.project):
            deployment.kill(holder)

    # SQLite has one lock for all: a process that is held with it would stop all others.
    stories = [story for story in at_places(KILLED) if deployment.servers.database or not story.locks]
    return _waves(deployment, some(stories, few), strike, strike_one)


#: With ``few``, one of so many places (or faults) of an operation is tested; others with each commit, as ``turns`` says.
_FEW = 12


def some(stories: Iterable[Story], few: bool) -> Iterator[Story]:
    """Yield the stories, or a few of each operation, at different places for each."""
    for number, (_, mine) in enumerate(itertools.groupby(stories, lambda story: story.subject.name)):
        every = list(mine)
        yield from every[(number + turns.TURN) % min(_FEW, len(every)) :: _FEW] if few else every


def cut(deployment: Deployment, few: bool = False) -> list[Story]:
    """Cut all connections to the database while all cells are at their places."""
    if not deployment.servers.database:
        return []

    def cut_all() -> None:
        if not deployment.cut():
            raise AssertionError('there was no connection to cut')

    def strike(wave: Wave) -> None:
        cut_all()
        wave.release()

    def strike_one(wave: Wave, story: Story) -> None:
        cut_all()
        wave.orders.release(story.project)

    return _waves(deployment, some(at_places(CUT), few), strike, strike_one)


def broker(deployment: Deployment, few: bool = False) -> list[Story]:
    """Kill the broker while all cells are at their places, and start it again only when all have ended."""
    running = deployment.servers.broker
    if not running:
        return []

    def strike(wave: Wave) -> None:
        running.abort()
        wave.release()

    return _waves(deployment, some(at_places(BROKER), few), strike, mend=running.start)


def messages(deployment: Deployment) -> list[Story]:
    """Lose each message once, and send each twice once."""
    if not deployment.servers.broker:
        return []
    return [story for column, role in _messages() for story in _messages_of(deployment, role, column)]


def _messages() -> Iterator[tuple[str, str]]:
    return itertools.product(_MODES, ROLES)


def _messages_of(deployment: Deployment, role: str, column: str) -> list[Story]:
    count = deployment.orders.touched(role)
    wave = Wave(deployment, _wanted(deployment, _senders(role, column)))
    if not wave.stories:
        return []
    wave.prepare()
    deployment.orders.wakes(role, _MODES[column])
    try:
        wave.ask()
        wave.judge(wave.stories)
        deployment.eventually(
            lambda: deployment.orders.touched(role) != count, f'no message of {role} was seen'
        )
    finally:
        deployment.orders.wakes(role, '')
    return wave.everyone


def _senders(role: str, column: str) -> Iterator[Story]:
    """Yield a story for each operation in which processes of that role send a message."""
    for subject in SUBJECTS:
        ways = [way for way in subject.ways if way.role == role]
        if role == ('scheduler' if subject.timed else 'api') or any(way.passed_on for way in ways):
            yield Story(subject, f'{role}: wake-up', column)
        elif any(way.passed_back for way in ways):
            yield Story(
                subject,
                f'{role}: wake-up',
                column,
                end=BAD,
                orders={'faults': {subject.method: 'works, then refuses'}},
            )


#: Required ends of faults; for the others, an end of any kind.
_ENDS = {
    'raises once': GOOD,
    'raises always': BAD,
    'refuses': BAD,
    'works, then refuses': BAD,
    **dict.fromkeys(faulty.HANGS, GOOD),
}
#: After these all cells succeed; that is also required when a driver undoes its work.
_HARMLESS = ('raises once', *faulty.HANGS)


def driver(deployment: Deployment, few: bool = False) -> list[Story]:
    """Let the driver raise, hang and be killed, or answer in part or nonsense, in each method that operations call."""
    return _waves(deployment, some(_driver_stories(), few), lambda wave: wave.kill('share'))


def _driver_stories() -> Iterator[Story]:
    for subject in SUBJECTS:
        if not subject.method:
            continue
        for fault in (*faulty.BEFORE, *faulty.AFTER, *faulty.HANGS):
            yield _driver_story(subject, subject.method, fault, {}, _ENDS.get(fault, ANY))
            for method in subject.also:
                yield _driver_story(subject, method, fault, {}, GOOD if fault in _HARMLESS else ANY)
        if any(way.passed_back for way in subject.ways):
            for fault in _HARMLESS:
                yield _driver_story(
                    subject, 'delete_share', fault, {subject.method: 'works, then refuses'}, BAD
                )


def _driver_story(subject: Subject, method: str, fault: str, more: dict[str, str], end: str) -> Story:
    orders: dict = {'faults': {method: fault, **more}}
    where = f'driver: {method}' + (' (when undoing)' if more else '')
    if fault not in faulty.HANGS:
        return Story(subject, where, fault, orders=orders, end=end)
    place = places.Place('share', fault, faulty.place(method, fault))
    return Story(subject, where, fault, place, {**orders, 'hold': place.key}, end)


_RESTORED = Subject(
    START, Cell.with_rule, lambda cell: None, (), 'share', 'available', 'ensure_shares', size=2
)
_START_FAULTS = (
    'raises once',
    'answers in part',
    'answers nothing',
    'answers a number',
    'answers wrong items',
    *faulty.HANGS,
)


def starts(deployment: Deployment) -> list[Story]:
    """Kill a backend's process and delete its exports; at its next start, the driver fails to serve shares again."""
    wave = Wave(deployment, _wanted(deployment, _start_stories()))
    wave.prepare()
    for story in wave.stories:
        deployment.orders.give(story.project)
    for story in wave.stories:
        deployment.orders.give(story.project, **story.orders)
        _start(deployment, wave, story)
        deployment.orders.give(story.project)
    return wave.everyone


def _start_stories() -> Iterator[Story]:
    return (_driver_story(_RESTORED, 'ensure_shares', fault, {}, GOOD) for fault in _START_FAULTS)


def _start(deployment: Deployment, wave: Wave, story: Story) -> None:
    [share] = truth.read(deployment.engine)[story.project].shares
    backend = share.host.partition('@')[2].partition('#')[0]
    store = Store(deployment.state / backend)
    with store.locked():
        record = store.share(share.instance_id)
        record.exported, record.rules = False, {}
        store.shares.put(record)
    deployment.kill(deployment.orders.worker(backend))
    if story.held:
        deployment.kill(
            deployment.eventually(lambda: deployment.orders.holder(story.project), 'the hanging start')
        )
    wave.begin_now()
    started = time.monotonic()

    def served() -> bool:
        with store.locked():
            record = store.share(share.instance_id)
            return record.exported and bool(record.rules)

    try:
        deployment.eventually(served, f'{story.where}: {story.column}')
    except AssertionError:
        story.problems.append('stuck: the share is not served')
    wave.judge([story])
    story.seconds = time.monotonic() - started


def ensures(deployment: Deployment) -> list[Story]:
    """Let a backend ensure its shares, and kill its process, or let the driver fail; one story after the other."""
    return _one_by_one(deployment, _ensure_stories())


def _one_by_one(deployment: Deployment, stories: Iterable[Story]) -> list[Story]:
    wave = Wave(
        deployment,
        (story for story in _wanted(deployment, stories) if deployment.servers.database or not story.locks),
    )
    wave.prepare()
    for story in wave.stories:
        deployment.orders.give(story.project)
    for story in wave.stories:
        deployment.orders.give(story.project, **story.orders)
        wave.send_request(story)
        deployment.orders.give(story.project)
    return wave.everyone


def _ensure_stories() -> Iterator[Story]:
    yield from at_places(KILLED, ALONE)
    for subject in ALONE[:1]:  # the driver has no part in reading a section again
        for fault in (*faulty.BEFORE, *faulty.AFTER, *faulty.HANGS):
            end = (
                GOOD if fault in faulty.AFTER else _ENDS.get(fault, ANY)
            )  # those come once, and the request is repeated
            yield _driver_story(subject, 'ensure_shares', fault, {}, end)


def evacuations(deployment: Deployment, few: bool = False) -> list[Story]:
    """Evacuate a backend, and kill the process at the place; one story after the other."""
    return _one_by_one(deployment, some(at_places(KILLED, EVACUATIONS), few))


#: In the order in which they run. Evacuations come first: replicas that other stories leave cannot leave their backends.
COLUMNS: dict[str, Callable[[Deployment], list[Story]]] = {
    'evacuations': evacuations,
    'killed': killed,
    'driver': driver,
    'messages': messages,
    'starts': starts,
    'ensures': ensures,
    'cut': cut,
    'broker': broker,
}

#: The stories of each column, without running them.
_TOLD: dict[str, Callable[[], Iterator[Story]]] = {
    'killed': lambda: at_places(KILLED),
    'cut': lambda: at_places(CUT),
    'broker': lambda: at_places(BROKER),
    'messages': lambda: (story for column, role in _messages() for story in _senders(role, column)),
    'driver': _driver_stories,
    'starts': _start_stories,
    'ensures': _ensure_stories,
    'evacuations': lambda: at_places(KILLED, EVACUATIONS),
}


def all_stories(*names: str) -> list[Story]:
    """Return every story of these columns (all by default) as it is before it runs."""
    return [story for name in names or COLUMNS for story in _TOLD[name]()]
