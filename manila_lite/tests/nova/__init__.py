# SPDX-License-Identifier: Apache-2.0
"""Programs for the Python of another environment, in which Nova is; nothing of ours is there (tools/nova-requirements.txt).

Each reads from standard input where things are: a JSON object with ``auth_url``, ``password`` and ``share``.
"""
