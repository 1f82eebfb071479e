# SPDX-License-Identifier: Apache-2.0
"""Sphinx settings. Nothing here needs a network."""

import pathlib
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_ROOT / 'doc/ext'), str(_ROOT)]

project = 'manila_lite'
copyright = 'the manila_lite contributors'
extensions = [
    'oslo_config.sphinxext',
    'oslo_policy.sphinxext',
    'reference',
    'reference.page_contents',
    'reno.sphinxext',
]
smartquotes = False  # they would turn --fix into something that nobody can type
html_theme = 'alabaster'
html_static_path = ['_static']
html_show_sourcelink = False
html_theme_options = {
    'description': 'Shared file systems as a service, small enough to read',
    'fixed_sidebar': True,
}
