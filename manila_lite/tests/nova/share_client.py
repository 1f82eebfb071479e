# SPDX-License-Identifier: Apache-2.0
"""Nova's own client of shared file systems, against the API in Keystone's catalog; and the users' view meanwhile."""

import json
import sys
import time

import nova.conf
from keystoneauth1 import loading, session
from keystoneauth1.identity import v3
from nova import context, exception
from nova.share import manila

NOBODY = '00000000-0000-0000-0000-000000000000'
HOST = ('ip', '127.0.0.1')
HIDDEN = '******'
DOMAINS = {'user_domain_id': 'default', 'project_domain_id': 'default'}
#: Seconds. Nova waits 10 for a rule to be applied, which is short for a machine that is busy with other tests.
PATIENCE = 60


def configure(place):
    """Configure Nova to log in as the user nova."""
    conf = nova.conf.CONF
    conf([], project='nova', default_config_files=[])
    login = {
        'auth_url': place['auth_url'],
        'username': 'nova',
        'password': place['password'],
        'project_name': 'service',
    }
    for group in ('manila', 'service_user'):
        conf.register_opts(loading.get_auth_plugin_conf_options('password'), group=group)
        conf.set_override('auth_type', 'password', group)
        for name, value in (login | DOMAINS).items():
            conf.set_override(name, value, group)


class User:
    """A user who calls the API directly."""

    def __init__(self, place, name):
        self.session = session.Session(
            v3.Password(
                place['auth_url'], username=name, password=place['password'], project_name=name, **DOMAINS
            )
        )

    def call(self, method, path, body=None):
        """Send a request; returns (status, document)."""
        answer = self.session.request(
            path,
            method,
            json=body,
            raise_exc=False,
            headers={'X-OpenStack-Manila-API-Version': '2.82'},
            endpoint_filter={'service_type': 'shared-file-system'},
        )
        return answer.status_code, answer.json() if answer.content else None

    def rules(self, share):
        """Return the rules of the share as the caller sees them."""
        status, document = self.call('GET', f'/share-access-rules?share_id={share}')
        assert status == 200, document
        return document['access_list']

    def locks(self):
        """Return the locks of all projects."""
        status, document = self.call('GET', '/resource-locks?all_projects=1')
        assert status == 200, document
        return document['resource_locks']


def eventually(test, what):
    """Wait until ``test`` returns true, for ``PATIENCE`` seconds."""
    end = time.monotonic() + PATIENCE
    while not test():
        assert time.monotonic() < end, what
        time.sleep(0.2)  # sleeps: between two looks; Nova's Python has not our package


def refused(expected, call, *args):
    """Check that Nova's call raises this exception."""
    try:
        call(*args)
    except expected:
        return
    raise AssertionError(f'{call.__name__}: no {expected.__name__}')


def granted(api, ctx, share):
    """Let Nova grant its host access to the share; return the rule."""
    got = api.get(ctx, share)
    assert got.status == 'available' and got.export_location, got
    assert not api.has_access(ctx, share, *HOST)
    rule = api.allow(ctx, share, *HOST, 'rw', 'Lock by nova for instance x')
    assert (rule.access_to, rule.access_key) == ('127.0.0.1', None), rule
    eventually(lambda: api.has_access(ctx, share, *HOST), f'the rule is not active in {PATIENCE} s')
    refused(exception.ShareAccessGrantError, api.allow, ctx, share, *HOST, 'rw')
    return rule


def kept_from_its_owner(demo, admin, share, rule):
    """Check that the share's owner sees the rule, but can neither read it nor delete it or the share."""
    (seen,) = demo.rules(share)
    assert (seen['id'], seen['access_to'], seen['access_key']) == (rule.id, HIDDEN, HIDDEN), seen
    status, shown = demo.call('GET', f'/share-access-rules/{rule.id}')
    assert (status, shown['access']['access_to']) == (200, HIDDEN), shown
    assert not demo.call('GET', f'/share-access-rules?share_id={share}&access_to=127.0.0.1')[1]['access_list']
    for body in ({'access_id': rule.id}, {'access_id': rule.id, 'unrestrict': True}):
        status, document = demo.call('POST', f'/shares/{share}/action', {'deny_access': body})
        assert status == 403, (body, status, document)
    status, document = demo.call('DELETE', f'/shares/{share}')
    assert status in (403, 409), (status, document)
    assert admin.rules(share)[0]['access_to'] == '127.0.0.1'
    locks = {
        (lock['resource_type'], lock['resource_action'], lock['lock_context']): lock['lock_reason']
        for lock in admin.locks()
    }
    assert locks == {
        ('access_rule', 'show', 'service'): 'Lock by nova for instance x',
        ('access_rule', 'delete', 'service'): 'Lock by nova for instance x',
        ('share', 'delete', 'service'): locks.get(('share', 'delete', 'service')),
    }, locks
    assert rule.id in locks['share', 'delete', 'service'] or any(
        lock['id'] in locks['share', 'delete', 'service'] for lock in admin.locks()
    ), locks


def main():
    """Run all checks, in Nova's order of calls."""
    place = json.load(sys.stdin)
    configure(place)
    demo, admin, share = User(place, 'demo'), User(place, 'admin'), place['share']
    ctx = context.RequestContext(
        user_id=demo.session.get_user_id(),
        project_id=demo.session.get_project_id(),
        auth_token=demo.session.get_token(),
        project_domain_id='default',
    )
    api = manila.API()
    rule = granted(api, ctx, share)
    kept_from_its_owner(demo, admin, share, rule)
    api.deny(ctx, share, *HOST)
    eventually(lambda: not demo.rules(share), 'the rule is still there')
    assert not admin.locks()
    refused(exception.ShareAccessNotFound, api.deny, ctx, share, *HOST)
    refused(exception.ShareNotFound, api.get, ctx, NOBODY)
    refused(exception.ShareNotFound, api.allow, ctx, NOBODY, *HOST, 'rw')
    refused(exception.ShareNotFound, api.has_access, ctx, NOBODY, *HOST)
    status, document = demo.call('DELETE', f'/shares/{share}')
    assert status == 202, document
    print('all of it')


if __name__ == '__main__':
    main()
