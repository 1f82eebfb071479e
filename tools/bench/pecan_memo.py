#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small pecan request and a policy decision, stock and with manila_lite.api.http.memoise.

A missed target is the sign that a new release of pecan or oslo.policy has gone round the shims.
"""

import sys

import pecan
import pecan.rest
import report
import webob
from oslo_config import cfg
from oslo_policy import policy

from manila_lite.api.http import memoise


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


def measure(figures: report.Report) -> None:
    """Measure without the caches, then with them: they cannot be removed again."""
    calls, rounds = figures.pick((5, 1), (200, 5), (200, 9))
    subjects = {'pecan REST GET': (requests(), 2.0), 'policy decision': (decisions(), 1.5)}
    stock = {name: figures.add(f'{name}, stock', 1e6 / report.cost(function, calls, rounds), '/s of a core')
             for name, (function, _) in subjects.items()}
    memoise.install()
    for name, (function, least) in subjects.items():
        figures.add(f'{name}, memoised', 1e6 / report.cost(function, calls, rounds), '/s of a core', stock[name], least=least)


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
