# SPDX-License-Identifier: Apache-2.0
"""Programs for a Python environment with Nova and without our packages (tools/nova-requirements.txt).

Each reads a JSON object from standard input, with ``auth_url``, ``password`` and ``share``.
"""
