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
    'reference.sidebar_groups',
    'reno.sphinxext',
    'sphinx_copybutton',
    'sphinx_design',
]
highlight_language = 'text'  # most blocks are commands, in which words of Python mean nothing
smartquotes = False  # they would turn --fix into something that nobody can type
html_theme = 'furo'
html_title = 'manila_lite'
html_static_path = ['_static']
html_css_files = ['custom.css']
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    'light_css_variables': {'color-brand-primary': '#0369a1', 'color-brand-content': '#0369a1'},
    'dark_css_variables': {'color-brand-primary': '#38bdf8', 'color-brand-content': '#38bdf8'},
}
# Who copies a block gets its commands, without prompts and without what they print.
copybutton_exclude = '.linenos, .gp, .go'
copybutton_selector = 'div:not(.output) > div.highlight > pre'
