# SPDX-License-Identifier: Apache-2.0
"""A native and an NFS client that write while a metadata server is killed, and while their access is taken away."""

import contextlib
import os
import signal
import time

from manila_lite.tests.nfs_client import Session
from manila_lite.tests.nfs_writer import Writer
from scenarios.ceph_shares import DOCS, HOME
from scenarios.clients import must
from scenarios.service import Trouble
from scenarios.settings import V4


@contextlib.contextmanager
def writing(shares, alice):
    """Have both clients write one file after another meanwhile; yield them by their names."""
    writers = {alice.ident: Writer(alice), V4: Writer(Session(V4, shares.remote))}
    try:
        for writer in writers.values():
            writer.goes_on()
        yield writers
    finally:
        for writer in writers.values():
            writer.end()


def fail_over(demo, cluster, shares, alice):
    """Kill the active metadata server, and check that both clients go on, and that every file that they wrote is there."""
    with demo.step('A metadata server is killed while both write: the other takes over'):
        name = cluster.active()
        pid = cluster.ceph.daemons[name].process.pid
        with writing(shares, alice) as writers:
            demo.say(f'$ kill -9 {pid}    # {name}; the monitor waits {cluster.GRACE} s for a sign of life')
            os.kill(pid, signal.SIGKILL)
            began = time.monotonic()
            for writer in writers.values():
                writer.goes_on(10)
            paused = time.monotonic() - began
        if failed := {who: writer.failed for who, writer in writers.items() if writer.failed}:
            raise Trouble(f'clients failed: {failed}')
        now = demo.wait('a metadata server is active', cluster.active)
        if now == name:
            raise Trouble(f'{name} was killed, and serves')
        demo.say(f'{now} took over: both write again after {paused:.1f} s, and nothing failed')
        there = {alice.ident: os.listdir(alice.root), V4: must(shares.nfs('list')).split()}
        for who, files in there.items():
            written = writers[who].written
            if lost := set(written) - set(files):
                raise Trouble(f'files of {who} are lost: {", ".join(sorted(lost))}')
            demo.say(f'{who} wrote {len(written)} files, and all are there')
        cluster.ceph.kill(name)  # takes note of its end
        cluster.ceph.start(name)
        demo.say(f'{name} is started again, and stands by')


def shut_out(demo, shares, alice):
    """Take access away from both clients."""
    with demo.step('Access is taken away while both write: they are shut out at once'):
        with writing(shares, alice) as writers:
            for name, who in ((DOCS, alice.ident), (HOME, V4)):
                writer = writers[who]
                writer.goes_on()
                began = time.monotonic()
                shares.deny(name, who)
                demo.wait(f'{who} is shut out', lambda writer=writer: writer.failed)
                demo.say(
                    f'{who} is refused {time.monotonic() - began:.1f} s after the request: {writer.failed[0]}'
                )
        shares.grant(HOME, V4)
        demo.say(f'with a new rule {V4} reads on: {must(shares.nfs("read", writers[V4].written[0]))!r}')
