#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time a small pecan request and a policy decision, stock and with manila_lite.api.memoise, in one run.

``--check`` fails unless the memory makes requests at least twice as fast and decisions at least 1.5 times: the sign
that a new release of pecan or oslo.policy has gone round the shims.
"""

import argparse
import statistics
import sys
import time

import pecan
import pecan.rest
import webob
from oslo_config import cfg
from oslo_policy import policy

from manila_lite.api import memoise


class Shares(pecan.rest.RestController):
    @pecan.expose('json')
    def get_one(self, share_id):
        return {'share': {'id': share_id}}


class Root:
    shares = Shares()


def requests():
    app = pecan.make_app(Root())

    def one():
        answer = webob.Request.blank('/shares/7').get_response(app)
        assert answer.status_int == 200
    return one


def decisions():
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[])
    enforcer = policy.Enforcer(conf)
    enforcer.register_defaults([
        policy.RuleDefault('admin', 'role:admin'),
        policy.RuleDefault('share:get', 'rule:admin or (role:reader and project_id:%(project_id)s)'),
    ])

    def one():
        assert enforcer.enforce('share:get', {'project_id': 'p'}, {'roles': ['reader'], 'project_id': 'p'})
    return one


def measure(function, rounds, per_round=200):
    """Return microseconds a call: the median of rounds."""
    function()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(per_round):
            function()
        times.append((time.perf_counter() - begin) / per_round * 1e6)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--check', action='store_true')
    args = parser.parse_args()
    subjects = {'pecan REST GET': (requests(), 2.0), 'policy decision': (decisions(), 1.5)}
    stock = {name: measure(function, args.rounds) for name, (function, _) in subjects.items()}
    memoise.install()
    slow = 0
    for name, (function, wanted) in subjects.items():
        memoised = measure(function, args.rounds)
        ratio = stock[name] / memoised
        slow += ratio < wanted
        print(f'{name:16} stock {stock[name]:7.0f} us  memoised {memoised:7.0f} us  {ratio:.1f} times as fast')
    return int(args.check and slow > 0)


if __name__ == '__main__':
    sys.exit(main())
