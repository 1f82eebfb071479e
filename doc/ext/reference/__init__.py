# SPDX-License-Identifier: Apache-2.0
"""Directives that write references from the code while the documents are built, so that none can be old."""

import pathlib
from collections.abc import Callable, Iterable
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from reference import (
    api,
    clients,
    conformance,
    crash,
    dataproc,
    manage,
    metrics,
    openapi,
    proofs,
    refusals,
    states,
)

_SOURCES: dict[str, Callable[[], Iterable[str]]] = {
    'api-reference': api.lines,
    'client-calls': clients.lines,
    'conformance': conformance.lines,
    'crash-matrix': crash.lines,
    'data-processing-reference': dataproc.lines,
    'manage-reference': manage.lines,
    'metrics-reference': metrics.lines,
    'openapi-documents': openapi.lines,
    'proofs': proofs.lines,
    'refusals': refusals.lines,
    'states-reference': states.lines,
}


class _Reference(SphinxDirective):
    """A directive whose text comes from its source."""

    def run(self) -> list[nodes.Node]:
        """Return the parsed text."""
        return self.parse_text_to_nodes('\n'.join(_SOURCES[self.name]()), allow_section_headings=True)


def _write_documents(app: Any, error: Exception | None) -> None:
    if not error:
        openapi.write(pathlib.Path(app.outdir) / 'user')


def setup(app: Any) -> dict[str, Any]:
    """Add the directives, and the OpenAPI documents beside the pages."""
    for name in _SOURCES:
        app.add_directive(name, _Reference)
    app.connect('build-finished', _write_documents)
    return {'version': '1', 'parallel_read_safe': True, 'parallel_write_safe': True}
