# SPDX-License-Identifier: Apache-2.0
"""Markers of pages: an id of another project is an unknown marker, whatever the sort order."""

from manila_lite.tests.functional import walking

_KEYS = ('created_at', 'id', 'name', 'host', 'project_id', 'share_id', 'status', 'size')


class Pages(walking.WalkTest):
    def markers(self, op):
        """Return ids of rows that the first project has in a list, and the stranger does not."""
        found = [self.listed(caller, op, '') for caller in (self.owner, self.stranger)]
        theirs, mine = (
            {
                row['id']
                for rows in (document or {}).values()
                if isinstance(rows, list)
                for row in rows
                if 'id' in row
            }
            if status == 200
            else set()
            for status, document in found
        )
        return sorted(theirs - mine)[:2]

    def test_marker_of_another_project_is_answered_like_an_unknown_one(self):
        tried, reader = set(), self.caller('second', 'rita', 'reader')
        for op in self.lists():
            for resource_id in self.markers(op) if any(field.name == 'marker' for field in op.query) else ():
                for order in [f'sort_key={key}&sort_dir={way}' for key in _KEYS for way in ('asc', 'desc')]:
                    blank = self.listed(self.stranger, op, f'{order}&marker={walking.UNKNOWN}')
                    for caller in (self.stranger, reader):
                        self.assertEqual(
                            blank, self.listed(caller, op, f'{order}&marker={resource_id}'), (op.name, order)
                        )
                    tried.add(op.name)
        self.assertGreater(len(tried), 15, tried)
