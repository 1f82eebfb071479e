# SPDX-License-Identifier: Apache-2.0
"""Access rules and resource locks that are refused, each with its code and reason."""

from manila_lite.db import models
from manila_lite.drivers.cephfs.driver import CephfsDriver
from manila_lite.drivers.linux.driver import LinuxDriver
from manila_lite.tests.functional import refused

#: Type and text of access rules that are not valid, and the words about it in the message.
_NOBODY = (
    (
        'ip',
        '10.0.0.0/24/8',
        'it must be one address, such as 10.0.0.1 or fd00::1, or one network, such as 10.0.0.0/24',
    ),
    ('ip', '10.0.0.0/0.0.0.255', '0.0.0.255 is not a netmask'),
    ('ip', '::ffff:10.0.0.1', 'IPv4 addresses are written as such, and not within IPv6'),
    ('ip', '10.0.0.1/24', 'has host bits set'),
    (
        'ip',
        '0.0.0.0/32',
        'it stands for any address. Give the address of the client, or 0.0.0.0/0 for every client.',
    ),
    ('user', 'ann\x07e', 'is not a user or group name: it holds a control character.'),
    ('user', 'ann|e', 'is not a user or group name: it holds |.'),
    ('user', '. . .', 'is not a user or group name: it consists of periods and spaces.'),
    ('user', 'ann', 'is not a user or group name: it must have 4 to 255 characters.'),
    ('user', 'anne ', 'is not a user or group name: it begins or ends with a space.'),
    ('cert', 'x' * 65, 'is not a common name of a certificate: it must have 1 to 64 characters.'),
    ('cert', 'ann"e', 'is not a common name of a certificate: it holds ".'),
    ('cephx', 'ann\u00e9', 'is not a Ceph id: it must be printable ASCII characters.'),
    ('cephx', 'ann\\e', 'is not a Ceph id: it holds \\.'),
    ('cephx', 'client.anne', 'is not a Ceph id: it holds a period.'),
)


class OfBackends(refused.WithBackends):
    """Types of rules that a backend does not take for the protocol: its driver says so in its report."""

    EXTRA = f'{refused.WithBackends.EXTRA}enabled_share_protocols = NFS,CIFS,CEPHFS\n'
    UP = {'test@alpha': True, 'test@beta': True, 'test@gamma': True}
    POOLS = {
        'test@alpha#pool1': (9, {'access_types': LinuxDriver.ACCESS_TYPES}),
        'test@beta#pool1': (9, {'access_types': CephfsDriver.ACCESS_TYPES}),
        'test@gamma#pool1': (9, {}),
    }

    def test_49_18_types_that_the_backend_does_not_take_are_refused_at_once(self):
        self.type('mounted', mount_snapshot_support='True')
        tried = 0
        for host in ('alpha', 'beta'):
            types = self.POOLS[f'test@{host}#pool1'][1]['access_types']
            for proto, taken in types.items():
                share = self.share(share_proto=proto, share_type='mounted', host=f'test@{host}#pool1')
                paths = [
                    (f'/shares/{share}/action', ('ip', 'user', 'cert', 'cephx')),
                    (f'/snapshots/{self.snapshot(share)}/action', ('ip', 'user', 'cert')),
                ]
                for path, kind in ((path, kind) for path, kinds in paths for kind in kinds):
                    body = {
                        'allow_access': {
                            'access_type': kind,
                            'access_to': '10.0.0.9' if kind == 'ip' else 'anne',
                        }
                    }
                    if kind in taken:
                        self.user.ok('POST', path, body)
                    else:
                        words = (
                            f'access_type: {proto} shares of this backend take access rules of type {taken[0]} only, '
                            f'not {kind}.'
                        )
                        self.no(400, 'invalid_input', words, path, body)
                        tried += 1
        self.assertEqual(21, tried)

    def test_a_backend_that_does_not_say_gets_each_rule(self):
        for host in ('gamma', 'unknown'):
            share = self.share(host=f'test@{host}#pool1')
            self.user.ok(
                'POST',
                f'/shares/{share}/action',
                {'allow_access': {'access_type': 'user', 'access_to': 'anne'}},
            )


class Rules(refused.Refusing):
    """Access rules that are not made, changed or denied."""

    def setUp(self):
        super().setUp()
        self.share_id = self.share()
        self.path = f'/shares/{self.share_id}/action'

    def allow(self, to='10.0.0.9', kind='ip', **more):
        return {'allow_access': {'access_type': kind, 'access_to': to, **more}}

    def test_access_rules_for_invalid_clients_are_refused(self):
        for kind, to, words in _NOBODY:
            self.no(400, 'invalid_input', words, self.path, self.allow(to, kind))

    def test_share_that_is_not_there_is_told_before_its_rule_is_read(self):
        for share in (refused.NOWHERE, self.share_id):
            other = self.caller('other')
            for to in ('0.0.0.0', 'nobody', '10.0.0.9'):
                self.no(404, 'share_not_found', share, f'/shares/{share}/action', self.allow(to), other)

    def test_second_rule_for_an_address_written_differently_is_refused(self):
        self.rule(self.share_id, to='10.0.0.1')
        self.no(
            400,
            'access_rule_exists',
            f'share {self.share_id} has an access rule for ip 10.0.0.1/32 already.',
            self.path,
            self.allow('10.0.0.1/32'),
        )

    def test_new_rule_is_refused_below_2_28_while_rules_are_in_error(self):
        self.share_is(self.share_id, access_rules_status='error')
        user = self.caller('p', version='2.27')
        self.no(
            400,
            'access_rules_in_error',
            f'Share {self.share_id} has access rules in error; deny them first.',
            self.path,
            self.allow(),
            user,
        )

    def test_rule_changes_are_refused_below_2_74_while_a_replica_is_in_error(self):
        self.type('twofold', replication_type='dr')
        share = self.share(share_type='twofold')
        rule, replica = self.rule(share), self.aside(share, status='error', replica_state='error')
        words, user = (
            f'Replica {replica} of share {share} is in error; a change of access',
            self.caller('p', version='2.73'),
        )
        self.no(400, 'replica_in_error', words, f'/shares/{share}/action', self.allow(), user)
        self.no(
            400,
            'replica_in_error',
            words,
            f'/shares/{share}/action',
            {'deny_access': {'access_id': rule}},
            user,
        )

    def test_rule_changes_of_a_share_without_a_backend_are_refused(self):
        rule = self.rule(self.share_id)
        self.share_is(self.share_id, host=None)
        self.no(
            400,
            'wrong_state',
            f'Share {self.share_id} is on no backend, so its access rules cannot be applied.',
            self.path,
            {'deny_access': {'access_id': rule}},
        )
        self.no(
            400,
            'share_not_available',
            f'Share {self.share_id} is available; its access rules can be changed when',
            self.path,
            self.allow(),
        )

    def test_denying_a_rule_of_another_share_is_refused(self):
        rule = self.rule(self.share())
        self.no(
            404,
            'access_rule_not_found',
            f'Access rule {rule} could not be found.',
            self.path,
            {'deny_access': {'access_id': rule}},
        )

    def test_rule_above_the_limit_is_refused(self):
        self.option('access_rules', 1, 'limits')
        self.rule(self.share_id)
        self.no(
            413,
            'over_limit_access_rules',
            f'Limit access_rules exceeded: share {self.share_id} may have 1',
            self.path,
            self.allow(),
        )

    def test_rule_for_a_snapshot_that_cannot_be_mounted_is_refused(self):
        snapshot = self.snapshot(self.share_id)
        self.put(models.shares, self.share_id, mount_snapshot_support=False)
        self.no(
            400,
            'mount_snapshot_not_supported',
            f'Snapshot {snapshot} cannot be mounted: the share type of its share',
            f'/snapshots/{snapshot}/action',
            self.allow(),
        )


class Locks(refused.Refusing):
    """Locks that are not placed, changed or lifted, and requests that a lock refuses."""

    def setUp(self):
        super().setUp()
        self.share_id = self.share()
        self.path = f'/shares/{self.share_id}/action'

    def lock(self, resource_id, kind='share', caller=None, **more):
        return (caller or self.user).ok(
            'POST',
            '/resource-locks',
            {'resource_lock': {'resource_id': resource_id, 'resource_type': kind, **more}},
        )['resource_lock']['id']

    def lock_no(self, status, code, words, **wanted):
        self.no(
            status,
            code,
            words,
            '/resource-locks',
            {'resource_lock': {'resource_id': self.share_id, 'resource_type': 'share', **wanted}},
        )

    def test_denying_a_locked_rule_without_unrestrict_is_refused(self):
        rule = self.rule(self.share_id)
        lock = self.lock(rule, 'access_rule')
        self.no(
            403,
            'access_rule_locked',
            f'Access rule {rule} cannot be denied: it is locked by {lock} (by user). Deny it with',
            self.path,
            {'deny_access': {'access_id': rule}},
        )

    def test_rule_locked_by_an_administrator_is_neither_denied_nor_changed(self):
        rule = self.rule(self.share_id)
        lock = self.lock(rule, 'access_rule', self.admin)
        words = f'it has the lock {lock} (by admin).'
        self.no(
            403,
            'access_rule_locked',
            f'Access rule {rule} cannot be denied: {words}',
            self.path,
            {'deny_access': {'access_id': rule, 'unrestrict': True}},
        )
        self.no(
            403,
            'access_rule_locked',
            f'Access rule {rule} cannot be changed: {words}',
            f'/share-access-rules/{rule}',
            {'update_access': {'access_level': 'ro'}},
            method='PUT',
        )

    def test_lock_of_another_user_is_neither_changed_nor_deleted(self):
        lock = self.lock(self.share_id, caller=self.admin)
        words = f'Resource lock {lock} was placed by admin u. Ask the owner of the lock'
        self.no(403, 'lock_of_another', words, f'/resource-locks/{lock}')
        self.no(
            403,
            'lock_of_another',
            words,
            f'/resource-locks/{lock}',
            {'resource_lock': {'lock_reason': 'x'}},
            method='PUT',
        )

    def test_lock_against_showing_a_share_is_refused(self):
        words = (
            'resource_action: a share is locked against "delete" only; an access rule also against "show".'
        )
        self.lock_no(400, 'invalid_input', words, resource_action='show')
        lock = self.lock(self.share_id)
        self.no(
            400,
            'invalid_input',
            words,
            f'/resource-locks/{lock}',
            {'resource_lock': {'resource_action': 'show'}},
            method='PUT',
        )

    def test_lock_of_an_unknown_resource_is_refused(self):
        for kind, name in (('share', 'share'), ('access_rule', 'access rule')):
            self.lock_no(
                400,
                'resource_not_found',
                f'resource_id: there is no {name} {refused.NOWHERE}.',
                resource_id=refused.NOWHERE,
                resource_type=kind,
            )

    def test_second_visibility_lock_is_refused(self):
        rule = self.rule(self.share_id)
        self.lock(rule, 'access_rule', resource_action='show')
        self.lock_no(
            409,
            'visibility_locked',
            f'The visibility of access rule {rule} is locked already.',
            resource_id=rule,
            resource_type='access_rule',
            resource_action='show',
        )

    def test_lock_above_the_limit_is_refused(self):
        self.option('resource_locks', 1, 'limits')
        self.lock(self.share_id)
        self.lock_no(
            413,
            'over_limit_resource_locks',
            f'Limit resource_locks exceeded: share {self.share_id} may have 1',
        )

    def test_lock_reason_without_a_lock_is_refused(self):
        self.no(
            400,
            'invalid_input',
            'lock_reason: only together with lock_visibility or lock_deletion.',
            self.path,
            {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.7', 'lock_reason': 'why not'}},
        )
