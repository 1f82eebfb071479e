# SPDX-License-Identifier: Apache-2.0
"""Waves of cells: all cells of a column wait at their places, a process dies, and each cell must come to a good end."""

import concurrent.futures
import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from manila_lite.tests import waiting
from manila_lite.tests.crash import places, truth
from manila_lite.tests.crash.deployment import Deployment
from manila_lite.tests.crash.subjects import SUBJECTS, Cell, Subject, Unmet

#: Seconds without a change after which a story is stuck, however slow the machine is.
PATIENCE = waiting.LIMIT
#: Seconds after which it is stuck although it changes: it goes in circles.
AT_MOST = 2 * PATIENCE
#: Seconds for a story to come to its place before the strike, or longer while any story of its wave changes: the
#: machine may be busy.
_ON_THE_WAY = PATIENCE
#: Seconds without a change after which a story is taken to wait for the locks of another one: it runs once more.
_BEHIND = 5.0
_numbers = itertools.count(1)

#: Required ends of a story: success; failure, with a message to its owner; or any settled state.
GOOD, BAD, ANY = 'good', 'bad', 'any'


@dataclasses.dataclass
class Story:
    """A cell of the table: the request, the place and kind of the failure, and the end."""

    subject: Subject
    where: str
    column: str
    place: places.Place | None = None
    orders: dict[str, Any] = dataclasses.field(default_factory=dict)
    end: str = GOOD
    state: str = ''
    seconds: float = 0.0
    problems: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.project = f'c{next(_numbers):04}'
        self.before: dict[str, str] = {}
        self.begun: concurrent.futures.Future | None = None
        #: When it was struck, if alone, and not with its wave.
        self.struck: float | None = None

    @property
    def held(self) -> bool:
        """Say whether it waits at a place."""
        return 'hold' in self.orders

    @property
    def role(self) -> str:
        """Return the role of the process that it is held in."""
        return self.place.role if self.place else ''

    @property
    def locks(self) -> bool:
        """Say whether it holds locks of the database at its place, for which other stories may have to wait."""
        return bool(self.place and self.place.locks)

    def title(self) -> str:
        """Return a line about it."""
        return f'{self.subject.name} | {self.where} | {self.column}: {self.state} {self.seconds:.1f} s'


def at_places(column: str, subjects: Iterable[Subject] = SUBJECTS) -> Iterator[Story]:
    """Yield a story for each place of each operation."""
    for subject in subjects:
        for place in places.of_timer() if subject.timed else places.of_api():
            yield Story(subject, f'{place.role}: {place.what}', column, place, {'hold': place.key})
        for way in subject.ways:
            for place in way.places():
                yield Story(
                    subject,
                    f'{way.role}: {place.what}',
                    column,
                    place,
                    {'hold': place.key, **_refusal(subject, way, place)},
                    end=GOOD if place.refused is None else BAD,
                )


def _refusal(subject: Subject, way: Any, place: places.Place) -> dict[str, Any]:
    if place.refused is None:
        return {}
    asked_in = subject.method_step or places.PLANS[way.role][way.kind].names[0]
    if way.role == 'share' and subject.method and place.refused == asked_in and not subject.answers:
        return {'faults': {subject.method: 'works, then refuses'}}
    return {'fail': places.name(way.role, way.kind, places.FAILS, place.refused)}


class Wave:
    """Stories that run side by side in one deployment."""

    def __init__(self, deployment: Deployment, stories: Iterable[Story]):
        self.deployment = deployment
        self.orders = deployment.orders
        self.stories = list(stories)
        #: All stories, also those whose preparation failed.
        self.everyone = self.stories
        #: Stories that waited for locks of another story that was held.
        self._behind: list[Story] = []
        self._cells = {story.project: Cell(deployment, story.project) for story in self.stories}
        self._clients = concurrent.futures.ThreadPoolExecutor(len(self.stories) or 1)
        self._start = 0.0

    def run(
        self, strike: Callable[['Wave'], None], strike_one: Callable[['Wave', Story], None] | None = None
    ) -> list[Story]:
        """Prepare and begin all stories, then call ``strike``; return the stories with their ends. With ``strike_one`` those
        that hold locks are begun after the others, and struck one by one, so that none waits for another's locks.
        """
        self.prepare()
        (self._ask_free if strike_one else self.ask)()
        strike(self)
        self.judge(self._begun())
        if strike_one:
            self._strike_each(strike_one)
        self._clients.shutdown()
        # A story that ended badly counts, wherever it was held.
        self._behind = [story for story in self._behind if not story.problems]
        return [story for story in self.everyone if not any(story is late for late in self._behind)]

    def once_more(self) -> list[Story]:
        """Return copies, as before their run, of the stories that other stories kept from their places."""
        return [dataclasses.replace(story, state='', seconds=0.0, problems=[]) for story in self._behind]

    def prepare(self) -> None:
        """Make the resources that stories need; drop stories for which that fails."""
        with concurrent.futures.ThreadPoolExecutor(8) as workers:
            there = list(workers.map(self._prepared, self.stories))
        self.stories = [story for story, ready in zip(self.stories, there, strict=True) if ready]
        projects = truth.read(self.deployment.engine)
        for story in self.stories:
            story.before = projects[story.project].of(story.subject.resource_type)
            self.orders.give(story.project, **story.orders)

    def _prepared(self, story: Story) -> bool:
        try:
            story.subject.prepare(self._cells[story.project])
        except AssertionError as late:
            story.problems.append(f'stuck: before anything was done to it: {late}')
            story.state = 'unprepared'
        return not story.state

    def ask(self) -> None:
        """Begin all stories, and wait until each is at its place. Those that hold locks come last, one by one."""
        self._ask_free()
        for number, story in enumerate(self._locking()):
            self._begin(story)
            self._held([story], behind=number > 0)

    def _ask_free(self) -> None:
        """Begin the stories that hold no locks, and wait until each is at its place."""
        self.begin_now()
        free = [story for story in self.stories if not story.locks]
        for story in free:
            self._begin(story)
        self._held(free)

    def _locking(self) -> list[Story]:
        return [story for story in self.stories if story.locks]

    def _begun(self) -> list[Story]:
        return [story for story in self.stories if story.begun is not None]

    def _strike_each(self, strike_one: Callable[['Wave', Story], None]) -> None:
        """Begin and strike the stories that hold locks one by one, and judge them."""
        left: dict[str, Story] = {}
        for story in self._locking():
            self._begin(story)
            self._held([story])
            self.begin_now()
            strike_one(self, story)
            story.struck = time.monotonic()
            if story.role == 'api' or story.subject.asks:  # its client may have to ask once more
                self.judge([story])
            else:
                left[story.project] = story
            self._pop_settled(left)
        self.judge(self._locking())

    def _begin(self, story: Story) -> None:
        story.begun = self._clients.submit(story.subject.begin, self._cells[story.project])

    def _held(self, stories: Iterable[Story], *, behind: bool = False) -> None:
        """Wait until each story that shall be held is at its place, and note a problem of those that are not. Stories
        ``behind`` others that hold locks have less time, and run once more.
        """
        away = [story for story in stories if story.held]
        patience = _BEHIND if behind else PATIENCE
        began = time.monotonic()
        end = began + (_BEHIND if behind else _ON_THE_WAY)
        before: Any = None
        while away := [story for story in away if not self.orders.holder(story.project)]:
            projects = truth.read(self.deployment.engine, [story.project for story in away])
            now = {story.project: list(projects[story.project].unsettled()) for story in away}
            if now != before:
                before, end = now, max(end, time.monotonic() + patience)
            if time.monotonic() > min(end, began + 2 * _ON_THE_WAY):
                break
            self.deployment.lives()
            time.sleep(0.3)  # sleeps: between two looks; the end moves with each change
        for story in away:
            if behind:
                self._behind.append(story)
            else:
                story.problems.append(f'stuck: it never came to its place; {before[story.project]}')
            self.orders.release(story.project)  # it may still come, and must not be held then with its locks

    def kill(self, role: str) -> None:
        """Kill the processes of the role that hold stories, and judge these stories."""
        mine = [story for story in self._begun() if story.held and story.role == role]
        self.begin_now()
        for pid in {self.orders.holder(story.project) for story in mine} - {None}:
            self.deployment.kill(pid)
        self.judge(mine)

    def begin_now(self) -> None:
        """Count the time of stories from here."""
        self._start = time.monotonic()

    def send_request(self, story: Story) -> None:
        """Run one story alone: begin it, kill the process that holds it, and judge its end."""
        self.begin_now()
        self._begin(story)
        self._held([story])
        if story.held and (holder := self.orders.holder(story.project)):
            self.deployment.kill(holder)
        self.begin_now()
        self.judge([story])

    def release(self) -> None:
        """Release all stories that are held."""
        self.begin_now()
        for story in self._begun():
            self.orders.release(story.project)

    def judge(self, stories: Iterable[Story]) -> None:
        """Wait for the end of each story, and judge it."""
        everyone = [story for story in stories if not story.state]
        left = {story.project: story for story in everyone if not story.seconds}
        for story in everyone:
            if story.begun is not None:
                concurrent.futures.wait([story.begun], PATIENCE)
        self._again(everyone)
        self._settled(left)
        self._look(everyone, stuck=set(left))

    def _settled(self, left: dict[str, Story]) -> None:
        """Remove stories that have ended from ``left``. The others get more time for as long as any of them changes."""
        end = time.monotonic() + PATIENCE
        before: dict[str, list[str]] = {}
        while left and time.monotonic() < min(end, self._start + AT_MOST):
            now = self._pop_settled(left)
            if now != before:
                end, before = time.monotonic() + PATIENCE, now
            time.sleep(0.2)  # sleeps: between two looks; the end moves with each change

    def _pop_settled(self, left: dict[str, Story]) -> dict[str, list[str]]:
        """Remove stories that have ended from ``left``. Return the work that each of them still had, by project."""
        projects = truth.read(self.deployment.engine, list(left))
        now = {project: list(projects[project].unsettled()) for project in left}
        for project in [project for project, unsettled in now.items() if not unsettled]:
            self._stop_clock(left.pop(project))
        return now

    def _stop_clock(self, story: Story) -> None:
        story.seconds = time.monotonic() - (self._start if story.struck is None else story.struck)

    def _again(self, stories: list[Story]) -> None:
        """Repeat requests of clients that got no answer, and for which no work was begun."""
        projects = truth.read(self.deployment.engine)
        for story in stories:
            if story.begun is None or not story.begun.exception():
                continue
            if isinstance(story.begun.exception(), Unmet):
                story.problems.append(f'wrong: {story.begun.exception()}')
                continue
            if (story.role == 'api' or story.subject.asks) and not self._was_heard(
                story, projects[story.project]
            ):
                if projects[story.project].of(story.subject.resource_type) != story.before:
                    story.problems.append('wrong: the client got an error, and not nothing was done')
                self.deployment.eventually(lambda story=story: self._retry(story), 'an answer')

    def _was_heard(self, story: Story, rows: truth.Rows) -> bool:
        if story.subject.asks:
            return bool(rows.messages) or story.end != GOOD
        return story.place.what != places.UNCOMMITTED and bool(rows.operations)

    def _retry(self, story: Story) -> bool:
        story.subject.begin(self._cells[story.project])
        return True

    def _look(self, stories: list[Story], stuck: set[str]) -> None:
        self.deployment.eventually(
            lambda: self.deployment.call('GET', '/healthcheck', prefix='')[0] == 200, 'the API'
        )
        projects = truth.read(self.deployment.engine)
        backends = truth.Backends(self.deployment.state, self.deployment.BACKENDS)
        orphans = list(backends.orphans(projects))
        for story in stories:
            rows = projects[story.project]
            story.state = self._state(story, rows)
            if story.project in stuck:
                self._stop_clock(story)
                story.problems += [f'stuck: {what}' for what in rows.unsettled()]
            story.problems += [what for project, what in orphans if project == story.project]
            story.problems += [
                *backends.differences(rows),
                *truth.quota(self.deployment, story.project, rows),
                *truth.untold(rows),
            ]
            story.problems += _unexpected(story, rows)
            story.problems += _unleft(story, self._cells[story.project].left, rows)

    def _state(self, story: Story, rows: truth.Rows) -> str:
        now = rows.of(story.subject.resource_type)
        mine = {
            resource_id: state
            for resource_id, state in now.items()
            if (resource_id in story.before) != story.subject.makes
        }
        if story.state:
            return story.state
        if len(mine) > 1:
            story.problems.append(f'wrong: {len(mine)} were made')
        if not mine:
            return 'nothing' if story.subject.makes else 'gone'
        state = '+'.join(sorted(set(mine.values())))
        if story.subject.size and state == story.subject.good:
            sizes = {row.size for row in rows.shares if row.id in mine}
            if sizes != {story.subject.size} and story.end == GOOD:
                story.problems.append(f'wrong: its size is {sizes}')
        return state


def _unexpected(story: Story, rows: truth.Rows) -> Iterator[str]:
    if story.end == GOOD and story.state != story.subject.good:
        yield f'{"lost" if story.state == "nothing" else "wrong"}: it should have ended {story.subject.good}'
    if story.end == BAD and story.subject.tells and not rows.messages:
        yield 'untold: it failed, and no message tells why'
    if story.end == BAD and story.subject.undone:
        if story.state != story.subject.undone:
            yield f'wrong: after the failure it should have been {story.subject.undone} again'
        if {share.access_rules_status for share in rows.shares} != {'active'}:
            yield 'wrong: after the failure its access rules should have been active'
    if story.subject.task_state:
        yield from _unfree(story, rows)


def _unleft(story: Story, left: str, rows: truth.Rows) -> Iterator[str]:
    """Yield shares that are still at the backend that they should have left."""
    there = [share.id for share in rows.shares if (share.host or '').partition('#')[0] == left]
    if story.subject.leaves and story.end == GOOD and there:
        yield f'wrong: still on {left}: {there}'


def _unfree(story: Story, rows: truth.Rows) -> Iterator[str]:
    """Yield differences from a migration that was called off: in its task state, and in what is left of its copy."""
    found = {row.task_state for row in (*rows.shares, *rows.servers)}
    if story.subject.task_state not in found:
        yield f'wrong: its task state should have been {story.subject.task_state}, and there are {found}'
    copies = [row.id for row in (*rows.instances, *rows.servers[1:])]
    if story.end == GOOD and copies:
        yield f'wrong: it ended well, and of its copy are left {copies}'
