# SPDX-License-Identifier: Apache-2.0
"""Directives that write references from the code while the documents are built, so that none can be old."""

from collections.abc import Callable, Iterable
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from reference import api, dataproc, manage, metrics, proofs

_SOURCES: dict[str, Callable[[], Iterable[str]]] = {
    'api-reference': api.lines, 'data-processing-reference': dataproc.lines, 'manage-reference': manage.lines,
    'metrics-reference': metrics.lines, 'proofs': proofs.lines}


class _Reference(SphinxDirective):
    """What its source says, as if it stood in the page."""

    def run(self) -> list[nodes.Node]:
        """Return the parsed text."""
        return self.parse_text_to_nodes('\n'.join(_SOURCES[self.name]()), allow_section_headings=True)


def setup(app: Any) -> dict[str, Any]:
    """The directives are known."""
    for name in _SOURCES:
        app.add_directive(name, _Reference)
    return {'version': '1', 'parallel_read_safe': True, 'parallel_write_safe': True}
