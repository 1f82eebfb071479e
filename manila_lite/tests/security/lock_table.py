# SPDX-License-Identifier: Apache-2.0
"""The table ``locks.yaml``, as tests read it: the meaning of resource locks for every call that changes something."""

import pathlib

import yaml

from manila_lite.api.v2 import CALLS

_READ = yaml.safe_load(pathlib.Path(__file__).with_name('locks.yaml').read_text())

#: Refusals of calls: for all until locks are lifted, for callers that may not lift them, and because the share is in use.
FIRST, LIFT, USED = (_READ[name] for name in ('first', 'lift', 'used'))
#: Reasons why calls may go on, by their labels.
FREE = {label: reason for reason, labels in _READ['free'].items() for label in labels}
#: All lines, including duplicates.
LINES = [*FIRST, *LIFT, *USED, *(label for labels in _READ['free'].values() for label in labels)]


def label(op):
    """Return the line of a call in the table."""
    return f'{op.method} {op.path} {op.action or ""}'.strip()


#: The calls that change something.
CHANGING = [op for op in CALLS if op.method != 'GET']
