# SPDX-License-Identifier: Apache-2.0
"""The table ``locks.yaml``, as tests read it: what resource locks mean for every call that changes anything."""

import pathlib

import yaml

from manila_lite.api.contract import OPS

_READ = yaml.safe_load(pathlib.Path(__file__).with_name('locks.yaml').read_text())

#: The answer to calls: where locks are lifted first, to who may not lift them, and where the share is in the way.
FIRST, LIFT, USED = (_READ[name] for name in ('first', 'lift', 'used'))
#: Why calls may go on, by their labels.
FREE = {label: reason for reason, labels in _READ['free'].items() for label in labels}
#: All lines, as often as they stand there.
LINES = [*FIRST, *LIFT, *USED, *(label for labels in _READ['free'].values() for label in labels)]


def label(op):
    """Return the line of a call."""
    return f'{op.method} {op.path} {op.action or ""}'.strip()


#: The calls that change something.
CHANGING = [op for op in OPS if op.method != 'GET']
