# SPDX-License-Identifier: Apache-2.0
"""Ids and names of another project in each place of each body: what lists and maps have in them, too.

A request that is refused says the same of them as of what does not exist. One that is not took them for a mere text.
"""

import json

from manila_lite.api import versions
from manila_lite.api.contract import OPS
from manila_lite.tests.functional import planting, walking, world

#: Values beside which an id is looked at more closely, where a body has such a field.
_BESIDE = {'size': 1, 'share_proto': 'NFS', 'host': 'test@alpha', 'service_host': 'test@beta#pool1', 'protocol': 'NFS',
           'export_path': '/exported'}


def told(said, value):
    """Return an answer as a text without the value; protocols are shown in capitals."""
    return json.dumps(said).lower().replace(value, 'ID')


def places(op, version):
    """Return the places of texts in the body of a call at a version."""
    entity = op.body_at(version) if op.lives(version) else None
    return list(planting.places(entity.schema(version))) if entity else []


class Bodies(walking.WalkTest):

    BACKENDS = {'alpha': '', 'beta': 'driver_handles_share_servers = true\n'}
    #: At least so many places were asked where an unknown id is refused.
    REFUSED = 40

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        served = cls.admin.ok('POST', '/types', {'share_type': {'name': 'served', 'extra_specs': {
            'driver_handles_share_servers': 'True', 'snapshot_support': 'True'}}})['share_type']['id']
        group_type = cls.admin.ok('POST', '/share-group-types', {'share_group_type': {
            'name': 'served', 'share_types': [served]}})['share_group_type']['id']
        cls.served = {'share_type': served, 'new_share_type_id': served, 'share_types': [served],
                      'share_group_type_id': group_type, 'share_network_id': cls.own['share_network_id']}
        public = cls.owner.share(name=walking.MARK)['id']
        cls.admin.ok('PUT', f'/shares/{public}', {'share': {'is_public': True}})
        cls.ids = cls.ids | {public}
        cls.values = {walking.UNKNOWN: sorted(cls.ids - {cls.world['qos_type_id']}),
                      'private-nobody': [f'private-{walking.MARK}', f'plain-{walking.MARK}', walking.MARK]}

    def calls(self):
        """Yield each call that a member may make with a body, a version, and the places of its body then."""
        for op in self.ops():
            if self.may(op) and op.body_at(versions.MAX):
                yield op, versions.MAX, places(op, versions.MAX)

    def documents(self, op, version):
        """Return right bodies of a call: with what is asked first of all, and with what share networks have to do with."""
        body, key = world.body(op, version, self.own), op.body_at(version).key
        fields = {field.name for field in world.body_fields(op, version)}
        for more in (_BESIDE, {**_BESIDE, **self.served}):
            fitting = {name: value for name, value in more.items() if name in fields}
            yield {**body, key: {**body[key], **fitting}} if key in body else {**body, **fitting}
            if not fields & self.served.keys():
                break

    def asked(self, op, version, document, path, value):
        """Return the answer; nothing of it stays, and nothing of the first project's changed meanwhile."""
        with self.undone():
            answer = self.call(self.stranger, op, version, self.own, planting.planted(document, path, value))
            if answer[0] < 400:
                self.assertEqual(set(), self.before - self.rows(), (op.name, path, value))
        return answer

    def test_what_another_project_has_is_answered_as_what_does_not_exist(self):
        self.before, self.wrong, refused = self.rows(), [], 0
        for op, version, paths in self.calls():
            for path in paths:
                for document in self.documents(op, version):
                    for unknown, values in self.values.items():
                        refused += self.compare(op, version, document, path, unknown, values)
        self.assertEqual(self.before, self.rows())
        self.assertEqual([], self.wrong)
        self.assertGreater(refused, self.REFUSED)

    def compare(self, op, version, document, path, unknown, values):
        """Each value is answered as one that nothing has; says whether that is refused."""
        blank, nothing = self.asked(op, version, document, path, unknown)
        self.assertLess(blank, 500, (op.name, path, nothing))
        wanted = blank, told(nothing, unknown) if blank >= 400 else ''
        for value in values if blank >= 400 else values[:1]:
            status, said = self.asked(op, version, document, path, value)
            self.assert_nothing_of_the_first(said, (op.name, path, value), {value, walking.MARK})
            heard = status, told(said, value) if blank >= 400 else ''
            if heard != wanted:
                self.wrong.append((op.name, path, value, wanted, heard))
        return blank >= 400


class OpenedBodies(Bodies):
    """The same with calls that are for administrators by default."""

    REFUSED = 60

    @classmethod
    def setUpClass(cls):
        cls.EXTRA = walking.opened(cls)
        super().setUpClass()
        del cls.values['private-nobody']     # who may make types learns which names are taken


class EarlyBodies(Bodies):
    """The same with fields and action names of a call's first version that the newest version has not."""

    REFUSED = 7

    def calls(self):
        for op in OPS:
            first = versions.minor(op.since)
            gone = [path for path in places(op, first) if path not in places(op, versions.MAX)] if self.may(op) else ()
            if gone:
                yield op, first, gone


class EarlyOpenedBodies(EarlyBodies, OpenedBodies):
    """The same with calls that are for administrators by default."""

    REFUSED = 14
