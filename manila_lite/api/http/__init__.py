# SPDX-License-Identifier: Apache-2.0
"""The WSGI application of an API: authentication, limits, dispatch and faults. Knows no resource."""

import sys

# pecan imports Mako, which colours its error pages where it finds Pygments: a twelfth of the start of an API. We have no pages.
sys.modules.setdefault('mako.ext.pygmentplugin', None)  # type: ignore[arg-type]
