# SPDX-License-Identifier: Apache-2.0
"""Give each long page a list of its sections at the top, so that no page forgets it and none has it twice."""

from typing import Any

from docutils import nodes
from docutils.transforms import parts
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

#: Pages with more sections than this are long.
FEW = 3
#: With more than this only the sections are listed, without those inside.
MANY = 40


class PageContents(SphinxTransform):
    """Add the list before the first section."""

    # Before docutils fills the lists in.
    default_priority = parts.Contents.default_priority - 10

    def apply(self, **_: Any) -> None:
        """Do it, but not where the page lists other pages."""
        sections = [
            section
            for section in self.document.findall(nodes.section)
            if isinstance(section.parent, nodes.section)
        ]
        if len(sections) <= FEW or next(self.document.findall(addnodes.toctree), None) is not None:
            return
        pending = nodes.pending(parts.Contents)
        pending.details.update({'local': None, 'depth': 1 if len(sections) > MANY else 2})
        self.document.note_pending(pending)
        topic = nodes.topic(
            '',
            nodes.title('', 'On this page'),
            pending,
            classes=['contents', 'local'],
            names=['on this page'],
        )
        self.document.note_implicit_target(topic)
        first = sections[0]
        first.parent.insert(first.parent.index(first), topic)


def setup(app: Any) -> dict[str, Any]:
    """Add the transform."""
    app.add_transform(PageContents)
    return {'version': '1', 'parallel_read_safe': True, 'parallel_write_safe': True}
