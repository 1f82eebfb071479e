#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare inproc:// with oslo.messaging's own transports of one process: casts, calls, idle CPU.

Numbers of one run may be compared with each other, not with those of another run. ``--check`` fails unless a call is
at least five times as fast as over fake://, which is what the driver is for.
"""

import argparse
import statistics
import sys
import threading
import time

import manila_lite.cmd  # noqa: F401  first: no green threads

# isort: split
import oslo_messaging
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


def measure(conf, url, casts, calls):
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
    time.sleep(2)
    idle = (time.process_time() - begin) / 2
    running.stop(10)
    return {'casts/s': cast_rate, 'call p50 ms': statistics.median(times) * 1e3, 'idle CPU %': idle * 100}


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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--casts', type=int, default=3000)
    parser.add_argument('--calls', type=int, default=100)
    parser.add_argument('--check', action='store_true')
    args = parser.parse_args()
    conf = options.register(cfg.CONF)
    conf([], project='manila_lite', default_config_files=[])
    transport.set_defaults(conf)
    rows = {url: measure(conf, url, args.casts, args.calls) for url in ('inproc://', 'fake://', 'kombu+memory://')}
    for url, row in rows.items():
        print(f'{url:16}', '  '.join(f'{name} {value:9.2f}' for name, value in row.items()))
    latency, cost = wake_latency(conf, args.calls)
    print(f'Bus.wake to endpoint: p50 {latency:.2f} ms; cost to the request: p50 {cost:.0f} us')
    ratio = rows['fake://']['call p50 ms'] / rows['inproc://']['call p50 ms']
    print(f'a call over fake:// takes {ratio:.0f} times as long as over inproc://')
    return int(args.check and ratio < 5)


if __name__ == '__main__':
    sys.exit(main())
