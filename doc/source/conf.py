# SPDX-License-Identifier: Apache-2.0
"""Sphinx settings. Nothing here needs a network."""

project = 'manila_lite'
copyright = 'the manila_lite contributors'
html_theme = 'alabaster'
html_static_path = ['_static']
html_show_sourcelink = False
html_theme_options = {
    'description': 'Shared file systems as a service, small enough to read',
    'fixed_sidebar': True,
}
