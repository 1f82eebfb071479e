# SPDX-License-Identifier: Apache-2.0
"""Sphinx settings of the release notes."""

extensions = ['reno.sphinxext']
project = 'manila_lite release notes'
copyright = 'the manila_lite contributors'
html_theme = 'furo'
