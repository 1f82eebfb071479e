# SPDX-License-Identifier: Apache-2.0
"""Give the groups of an index page their titles in the list of pages, which Sphinx leaves out below the first level."""

import functools
import html
from typing import Any

from docutils import nodes
from sphinx import addnodes


@functools.cache
def _groups(env: Any) -> dict[str, str]:
    """Return the title of each group by its first page: the caption of the list, or the section with the list."""
    found: dict[str, str] = {}
    for name, toc in env.tocs.items():
        if name == env.config.root_doc:
            continue  # the theme shows the captions of that page
        page = toc[0]
        for tree in toc.findall(addnodes.toctree):
            section = tree.parent.parent
            title = tree.get('caption') or (section is not page and section[0].astext())
            if title and tree['includefiles']:
                found[tree['includefiles'][0]] = title
    return found


@functools.cache
def _titles(env: Any) -> dict[str, nodes.Node]:
    """Return the tables of contents without sections."""
    return {
        name: nodes.bullet_list(
            '',
            nodes.list_item(
                '',
                toc[0][0].deepcopy(),
                nodes.bullet_list('', *(tree.deepcopy() for tree in toc.findall(addnodes.toctree))),
            ),
        )
        for name, toc in env.tocs.items()
    }


def _hasten(
    app: Any, _page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Have the list of pages made of titles: for each page Sphinx would copy all sections of all pages, and drop them."""
    whole = context['toctree']

    def toctree(**words: Any) -> Any:
        tocs = app.env.tocs
        if words.get('titles_only'):
            app.env.tocs = _titles(app.env)
        try:
            return whole(**words)
        finally:
            app.env.tocs = tocs

    context['toctree'] = toctree


def _add(app: Any, page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None) -> None:
    """Put each title before the first page of its group."""
    tree = context.get('furo_navigation_tree', '')
    for first, title in _groups(app.env).items():
        link = '#' if first == page else app.builder.get_relative_uri(page, first)
        at = tree.find(f'href="{link}"')
        if at >= 0:
            start = tree.rindex('<li', 0, at)
            tree = f'{tree[:start]}<li class="group">{html.escape(title)}</li>{tree[start:]}'
    context['furo_navigation_tree'] = tree


def setup(app: Any) -> dict[str, Any]:
    """Come before and after the theme, which makes the list."""
    app.connect('html-page-context', _hasten, priority=400)
    app.connect('html-page-context', _add, priority=900)
    return {'version': '1', 'parallel_read_safe': True, 'parallel_write_safe': True}
