# SPDX-License-Identifier: Apache-2.0
"""Ids and names of another project in each place of each body, including lists and maps.

A refused request gets the same answer as with an unknown id. A request that is accepted took the id for a plain text.
"""

import json

from manila_lite.api import versions
from manila_lite.api.v2 import CALLS
from manila_lite.tests.functional import planting, walking, world

#: Fields that a body needs so that its ids are looked at.
_BESIDE = {
    'size': 1,
    'share_proto': 'NFS',
    'host': 'test@alpha',
    'service_host': 'test@beta#pool1',
    'protocol': 'NFS',
    'export_path': '/exported',
}


def told(said, value):
    """Return an answer as a text without the value; answers show protocols in capitals."""
    return json.dumps(said).lower().replace(value, 'ID')


def places(op, version):
    """Return the places of texts in the body of a call at a version."""
    entity = op.body_at(version) if op.lives(version) else None
    return list(planting.places(entity.schema(version))) if entity else []


class Bodies(walking.WalkTest):
    BACKENDS = {'alpha': '', 'beta': 'driver_handles_share_servers = true\n'}
    #: Least number of places at which an unknown id is refused.
    REFUSED = 40

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        served = cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'served',
                    'extra_specs': {'driver_handles_share_servers': 'True', 'snapshot_support': 'True'},
                }
            },
        )['share_type']['id']
        group_type = cls.admin.ok(
            'POST', '/share-group-types', {'share_group_type': {'name': 'served', 'share_types': [served]}}
        )['share_group_type']['id']
        cls.served = {
            'share_type': served,
            'new_share_type_id': served,
            'share_types': [served],
            'share_group_type_id': group_type,
            'share_network_id': cls.own['share_network_id'],
        }
        public = cls.owner.share(name=walking.MARK)['id']
        cls.admin.ok('PUT', f'/shares/{public}', {'share': {'is_public': True}})
        cls.public, cls.ids = public, cls.ids | {public}
        cls.values = {
            walking.UNKNOWN: sorted(cls.ids - {cls.world['qos_type_id']}),
            'private-nobody': [f'private-{walking.MARK}', f'plain-{walking.MARK}', walking.MARK],
        }

    def calls(self):
        """Yield each call with a body that policy allows members, with a version and the places in its body."""
        for op in self.ops():
            if self.may(op) and op.body_at(versions.MAX):
                yield op, versions.MAX, places(op, versions.MAX)

    def documents(self, op, version):
        """Yield valid bodies of a call: with the required fields, and with fields about share networks."""
        body, key = world.body(op, version, self.own), op.body_at(version).key
        fields = {field.name for field in world.body_fields(op, version)}
        for more in (_BESIDE, {**_BESIDE, **self.served}):
            fitting = {name: value for name, value in more.items() if name in fields}
            yield {**body, key: {**body[key], **fitting}} if key in body else {**body, **fitting}
            if not fields & self.served.keys():
                break

    def asked(self, op, version, document, path, value):
        """Return the answer, roll back its effects, and check that nothing of the first project changed."""
        with self.undone():
            answer = self.call(self.stranger, op, version, self.own, planting.planted(document, path, value))
            if answer[0] < 400:
                self.assertEqual(set(), self.before - self.rows(), (op.name, path, value))
        return answer

    def test_foreign_ids_are_answered_like_unknown_ids(self):
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
        """Check that each value gets the same answer as an unknown one; say whether that is a refusal."""
        blank, nothing = self.asked(op, version, document, path, unknown)
        self.assertLess(blank, 500, (op.name, path, nothing))
        wanted = blank, told(nothing, unknown) if blank >= 400 else ''
        for value in values if blank >= 400 else values[:1]:
            status, said = self.asked(op, version, document, path, value)
            self.assert_nothing_of_the_first(said, (op.name, path, value), {value, walking.MARK})
            if (
                value == self.public
                and status == 403
                and said['forbidden']['reason'] == 'share_of_another_project'
            ):
                continue  # it is visible, so the caller learns nothing from the refusal
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
        del cls.values['private-nobody']  # a caller that may create types learns which names are taken


class EarlyBodies(Bodies):
    """The same with fields and action names of a call's first version that the newest version does not have."""

    REFUSED = 7

    def calls(self):
        for op in CALLS:
            first = versions.minor(op.since)
            gone = (
                [path for path in places(op, first) if path not in places(op, versions.MAX)]
                if self.may(op)
                else ()
            )
            if gone:
                yield op, first, gone


class EarlyOpenedBodies(EarlyBodies, OpenedBodies):
    """The same with calls that are for administrators by default."""

    REFUSED = 13
