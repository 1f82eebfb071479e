#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bus of one process: inproc:// beside oslo.messaging's own transports, of which fake:// is the baseline.

By the clock: waiting is what the others do.
"""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import statistics
import sys
import threading
import time

import oslo_messaging
import report
from oslo_config import cfg

from manila_lite import conf as options
from manila_lite.rpc import TOPICS, clients, endpoint, server, transport

PAYLOAD = 'x' * 900


class Endpoint:
    def __init__(self, count):
        self.left = count
        self.done = threading.Event()

    def note(self, ctxt, value):
        self.left -= 1
        if not self.left:
            self.done.set()

    def echo(self, ctxt, value):
        return value


def transport_of(conf, url, casts, calls, idle):
    conf.set_override('transport_url', url)
    end = Endpoint(casts)
    running = server.Server(conf, 'bench', 'a', [end], threads=1)
    running.start()
    client = oslo_messaging.get_rpc_client(transport.get_transport(conf),
                                           oslo_messaging.Target(topic='bench', server='a'))
    client.call({}, 'echo', value=PAYLOAD)
    begin = time.perf_counter()
    for _ in range(casts):
        client.cast({}, 'note', value=PAYLOAD)
    end.done.wait(60)
    cast_rate = casts / (time.perf_counter() - begin)
    times = []
    for _ in range(calls):
        begin = time.perf_counter()
        client.call({}, 'echo', value=PAYLOAD)
        times.append(time.perf_counter() - begin)
    begin = time.process_time()
    time.sleep(idle)
    used = (time.process_time() - begin) / idle
    running.stop(10)
    return {'casts': (cast_rate, '/s'), 'calls': (1 / statistics.median(times), '/s'), 'idle': (used * 100, '% of a core')}


def wake_latency(conf, count):
    conf.set_override('transport_url', 'inproc:///wake')
    woken = threading.Event()
    running = server.Server(conf, TOPICS['share'], 'h', [endpoint.Operations(lambda _ids: woken.set())])
    running.start()
    bus = clients.Bus(conf)
    times, costs = [], []
    for number in range(count):
        woken.clear()
        begin = time.perf_counter()
        bus.wake('share', 'h', str(number))
        costs.append(time.perf_counter() - begin)
        woken.wait(5)
        times.append(time.perf_counter() - begin)
    bus.close(5)
    running.stop(5)
    return statistics.median(times) * 1e3, statistics.median(costs) * 1e6


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    casts, calls, idle = figures.pick((20, 2, 0.1), (2000, 60, 1), (5000, 200, 5))
    conf = options.register(cfg.CONF)
    conf([], project='manila_lite', default_config_files=[])
    transport.set_defaults(conf)
    base = {}
    # Ours first: threads that the other transports leave running would be counted as its cost.
    rows = {url: transport_of(conf, url, casts, calls, idle) for url in ('inproc://', 'fake://', 'kombu+memory://')}
    for url in ('fake://', 'kombu+memory://', 'inproc://'):
        for name, (value, unit) in rows[url].items():
            least = 5 if (url, name) == ('inproc://', 'calls') else None
            line = figures.add(f'{url} {name}', value, unit, base.get(name), least=least)
            base.setdefault(name, line)
    latency, cost = wake_latency(conf, calls)
    figures.add('inproc:// wake-up, p50', latency, 'ms')
    figures.add('inproc:// wake-up, cost to the request', cost, 'us')


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
