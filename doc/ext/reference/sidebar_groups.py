# SPDX-License-Identifier: Apache-2.0
"""Give the groups of an index page their titles in the list of pages, which Sphinx leaves out below the first level."""

import html
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx import addnodes


def _groups(env: Any) -> Iterator[tuple[str, str]]:
    """Yield the first page of each group, and the group's title: the caption of the list, or the section with the list."""
    for name, toc in env.tocs.items():
        if name == env.config.root_doc:
            continue  # the theme shows the captions of that page
        page = toc[0]
        for tree in toc.findall(addnodes.toctree):
            section = tree.parent.parent
            title = tree.get('caption') or (section is not page and section[0].astext())
            if title and tree['includefiles']:
                yield tree['includefiles'][0], title


def _add(
    app: Any, pagename: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Put each title before the first page of its group."""
    tree = context.get('furo_navigation_tree', '')
    for first, title in _groups(app.env):
        link = '#' if first == pagename else app.builder.get_relative_uri(pagename, first)
        at = tree.find(f'href="{link}"')
        if at >= 0:
            start = tree.rindex('<li', 0, at)
            tree = f'{tree[:start]}<li class="group">{html.escape(title)}</li>{tree[start:]}'
    context['furo_navigation_tree'] = tree


def setup(app: Any) -> dict[str, Any]:
    """Come after the theme, which makes the list."""
    app.connect('html-page-context', _add, priority=900)
    return {'version': '1', 'parallel_read_safe': True, 'parallel_write_safe': True}
