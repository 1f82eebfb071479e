# SPDX-License-Identifier: Apache-2.0
"""People who use the cloud while its parts fail: one writes to a share that stays mounted, others make and delete shares.

A request that was not answered is sent again; one that was granted is not: what it was granted for must come.
"""

import hashlib
import threading

from cloud_of_three.cloud import CLIENT_ADDRESS
from manila_lite.tests import nfs4_owner, nfs_client, waiting
from manila_lite.tests.security import nfs4

_RULE = {'allow_access': {'access_type': 'ip', 'access_to': CLIENT_ADDRESS, 'access_level': 'rw'}}
_FILE = 'data'
_MOVED = {'writable': True, 'nondisruptive': False, 'preserve_snapshots': True}


class Wrong(Exception):
    """The cloud did something else than it was asked for."""


class Shares:
    """Requests of one project, each of which is repeated until it is granted, and what was granted."""

    def __init__(self, api, network):
        self.api, self.network = api, network
        self.granted = 0

    def get(self, path):
        """Return the status and the document of an answer; try again without one."""
        return waiting.until(
            lambda: self._answer('GET', path), f'GET {path} is answered', pause=0.3, ignoring=(OSError,)
        )

    def _answer(self, *request):
        status, document = self.api.call(*request)
        # An API whose host has its clock hours ahead takes each token for an expired one (401); another API answers.
        return None if status >= 500 or status == 401 else (status, document)

    def ask(self, method, path, body, found):
        """Send a request until it is granted, or ``found()`` returns what an unanswered one has made. Return its document."""

        def granted():
            if seen := found():
                return seen
            try:
                answer = self._answer(method, path, body)
            except OSError:
                return None
            if answer and answer[0] >= 400 and not (seen := found()):
                raise Wrong(f'{method} {path} {body}: {answer}')
            return answer and (seen or answer[1] or True)

        result = waiting.until(granted, f'{method} {path} {body} is granted', pause=0.5)
        self.granted += 1
        return result

    def settles(self, path, key, wanted='available', field='status'):
        """Wait until a resource is as it should be; return it."""
        last = []

        def settled():
            status, document = self.get(path)
            last[:] = [status, document]
            if status == 404 and wanted != 'gone':
                raise Wrong(f'{path} is lost')
            now = 'gone' if status == 404 else document[key][field]
            if 'error' in (now or '') and now != wanted:
                raise Wrong(f'{path} is {now}: {self._why(path)}')
            return now == wanted and (document or True)

        found = waiting.until(settled, lambda: f'{path} is {wanted}, not {last}', pause=0.3)
        return found if found is True else found.get(key)

    def _why(self, path):
        messages = self.get(f'/messages?resource_id={path.rpartition("/")[2]}')[1] or {}
        return [one['user_message'] for one in messages.get('messages', ())]

    def named(self, kind, name):
        """Return the resource of a name, if there is one, as a document has it."""
        found = self.get(f'/{kind}s?name={name}')[1][f'{kind}s']
        if len(found) > 1:
            raise Wrong(f'{len(found)} times {name}: one request was granted twice')
        return {kind: found[0]} if found else None

    def create(self, name):
        """Return a new share that this client may write to."""
        body = {'share': {'size': 1, 'share_proto': 'NFS', 'name': name, 'share_network_id': self.network}}
        share = self.ask('POST', '/shares', body, lambda: self.named('share', name))['share']['id']
        self.settles(f'/shares/{share}', 'share')
        self.ask('POST', f'/shares/{share}/action', _RULE, lambda: self._rules(share))
        rule = self._rules(share)[0]['id']
        self.settles(f'/share-access-rules/{rule}', 'access', 'active', 'state')
        return share

    def _rules(self, share):
        return self.get(f'/share-access-rules?share_id={share}')[1]['access_list']

    def export(self, share):
        """Return address and path."""
        locations = self.get(f'/shares/{share}/export_locations')[1]['export_locations']
        address, _, path = locations[0]['path'].partition(':')
        return address, path


class Client(threading.Thread):
    """Does all that there is with one share after the other, until told to end. ``shares``: what it has, with checksums."""

    def __init__(self, number, api, network):
        super().__init__(daemon=True)
        self.shares, self.sizes, self.failed = {}, {}, []
        self._users = Shares(api, network)
        self._number, self._made = number, 0
        self._ending, self._pausing, self._idle = threading.Event(), threading.Event(), threading.Event()

    @property
    def granted(self):
        """The number of requests that were granted so far."""
        return self._users.granted

    def run(self):
        while not self._ending.is_set():
            if self._pausing.is_set():
                self._idle.set()
                self._ending.wait(0.1)
                continue
            try:
                self._life()
            except Exception as bad:
                self.failed.append(f'client {self._number}: {bad}')
                self._pausing.set()  # the next ones would fail as this one has

    def pause(self):
        """Let it end what it does, and begin nothing more."""
        self._pausing.set()
        self._idle.clear()
        waiting.until(self._idle.is_set, f'client {self._number} ends what it does')

    def go_on(self):
        """Let it work again."""
        self._pausing.clear()

    def end(self):
        """End it."""
        self._ending.set()
        self.join(waiting.LIMIT)

    def _life(self):
        """Make a share and fill it; extend it, with a snapshot that comes and goes; delete the oldest of three."""
        self._made += 1
        users, name = self._users, f'client{self._number}-{self._made}'
        share = users.create(name)
        self.sizes[share] = 1
        self._write(share, name)
        path = f'/shares/{share}'
        users.ask('POST', f'{path}/action', {'extend': {'new_size': 2}}, lambda: self._size(path) == 2)
        users.settles(path, 'share')
        self._extended(path, share)
        self._snapshot(share, name)
        if len(self.shares) > 2:
            self._remove(next(iter(self.shares)))

    def _size(self, path):
        return self._users.get(path)[1]['share']['size']

    def _extended(self, path, share):
        if (size := self._size(path)) != 2:
            raise Wrong(f'{path} has {size} GiB after it was extended to 2')
        self.sizes[share] = 2

    def _write(self, share, name):
        address, path = self._users.export(share)
        text = name * 200
        said = []

        def written():
            said[:] = nfs_client.call(address, path, 'write', _FILE, text)
            return said[0]

        waiting.until(written, lambda: f'{share} can be written to: {said}', pause=0.5)
        self.shares[share] = hashlib.sha256(text.encode()).hexdigest()

    def _snapshot(self, share, name):
        users, body = self._users, {'snapshot': {'share_id': share, 'name': name}}
        made = users.ask('POST', '/snapshots', body, lambda: users.named('snapshot', name))['snapshot']['id']
        path = f'/snapshots/{made}'
        users.settles(path, 'snapshot')
        users.ask('DELETE', path, None, lambda: users.get(path)[0] == 404)
        users.settles(path, 'snapshot', 'gone')

    def _remove(self, share):
        path = f'/shares/{share}'
        del self.shares[share], self.sizes[share]
        self._users.ask('DELETE', path, None, lambda: self._users.get(path)[0] == 404)
        self._users.settles(path, 'share', 'gone')

    def differences(self):
        """Yield how its shares differ from what it was granted and wrote."""
        for share, digest in self.shares.items():
            status, document = self._users.get(f'/shares/{share}')
            if status != 200:
                yield f'lost: share {share}: {status}'
            elif document['share']['size'] != self.sizes[share]:
                yield f'wrong: share {share} has {document["share"]["size"]} GiB, not {self.sizes[share]}'
            else:
                yield from self._content(share, digest)

    def _content(self, share, digest):
        said = []

        def read():
            said[:] = nfs_client.call(*self._users.export(share), 'digest')
            return said[0] or 'GRACE' not in said[1]

        waiting.until(read, lambda: f'{share}: {said}', pause=0.5)
        if digest not in said[1]:
            yield f'lost: the file of share {share}: {said[1]}'


class Mover(Client):
    """Has an administrator move its share server, with its share, to and fro between two share networks."""

    def __init__(self, number, api, networks, admin):
        super().__init__(number, api, networks[0])
        self._admins, self._networks, self._share = Shares(admin, networks[0]), networks, None

    def _life(self):
        if self._share is None:
            self._made += 1
            name = f'mover{self._number}-{self._made}'
            self._share = self._users.create(name)
            self.sizes[self._share] = 1
            self._write(self._share, name)
        # A move that failed is a finding; the next one begins with another share.
        share, self._share = self._share, None
        self._move(f'/shares/{share}')
        self._share = share

    def _move(self, share):
        admins, shown = self._admins, self._users.get(share)[1]['share']
        network = next(one for one in self._networks if one != shown['share_network_id'])
        server = admins.get(share)[1]['share']['share_server_id']
        path, host = f'/share-servers/{server}', admins.get(share)[1]['share']['host'].partition('#')[0]

        def task():
            status, document = admins.get(path)
            return 'gone' if status == 404 else document['share_server']['task_state']

        begin = {'migration_start': {**_MOVED, 'host': host, 'new_share_network_id': network}}
        before = task()
        admins.ask('POST', f'{path}/action', begin, lambda: task() != before)
        admins.settles(path, 'share_server', 'migration_driver_phase1_done', 'task_state')
        ready = task()
        admins.ask('POST', f'{path}/action', {'migration_complete': None}, lambda: task() != ready)
        admins.settles(path, 'share_server', 'gone')
        moved = self._users.settles(share, 'share')
        if moved['share_network_id'] != network or moved['size'] != shown['size']:
            raise Wrong(f'{share} was moved to share network {network}, and is {moved}')


class Writer:
    """Writes 50 records a second to a file that it has locked, on a share that stays mounted."""

    def __init__(self, api, network):
        users = Shares(api, network)
        self._address, self._path = users.export(users.create('writer'))
        # The lock of a run that was killed lasts as long as its lease.
        refusals = OSError, nfs4.Refused
        self._writer = waiting.until(self._begin, 'the writer writes', pause=0.5, ignoring=refusals)
        self._seen = 0

    def _begin(self):
        return nfs4_owner.Writer(self._address, None, self._path)

    def pause(self):
        """Return the longest pause since the last question, in seconds."""
        self._writer.goes_on()
        gaps = [seconds for seconds, _ in self._writer.gaps[self._seen :]]
        self._seen += len(gaps)
        return max(gaps, default=0.0)

    def differences(self):
        """Yield what the writer was told is on the disk, and is not; and each refusal."""
        written, said = self._writer.acknowledged, []
        yield from (f'wrong: the writer was refused: {one}' for one in self._writer.refusals)

        def read():
            said[:] = nfs_client.call(self._address, self._path, 'read', self._writer.file)
            return said[0] or 'GRACE' not in said[1]

        waiting.until(read, lambda: f'the file of the writer: {said}', pause=0.5)
        if lost := nfs4_owner.missing(said[1].encode() + b'\n', written):
            yield f'lost: {len(lost)} of {written} records of the writer, first {lost[0]}'

    def end(self):
        """Stop writing."""
        self._writer.end()
