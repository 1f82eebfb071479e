# SPDX-License-Identifier: Apache-2.0
"""The language of refusals: what a stranger should not have to read. Each refusal in a functional test is looked at."""

import re

_NOUNS = (
    'access rule',
    'address',
    'backend',
    'backup',
    'character',
    'item',
    'key',
    'lock',
    'metadata key',
    'operation',
    'pool',
    'replica',
    'resource lock',
    'second',
    'security service',
    'server',
    'share',
    'share group',
    'share group snapshot',
    'share server',
    'snapshot',
    'subnet',
    'time',
)
#: By what is wrong: its form.
_FORMS = {
    'a plural after the number 1': re.compile(rf'(?<![\w.,:/-])1 (?:{"|".join(_NOUNS)})e?s\b'),
    'Python': re.compile(
        r"""(?<!['"\w])None(?!['"\w])|\['|\{'|<[\w.]+ object|\bdatetime\.|invalid literal|<class """
        r"""|Unrecognized value|\bb'"""
    ),
}
_LIST = re.compile(r'\bone of ([^.;]+)')


def objection(sentence: str, sent: str = '') -> str | None:
    """Return what is wrong with the language of a refusal, or None. Words of ``sent``, the request, are the client's."""
    for what, form in _FORMS.items():
        if (found := form.search(sentence)) and found.group() not in sent:
            return f'{what}: {found.group()}'
    for found in _LIST.finditer(sentence):
        words = found.group(1).split(', ')
        if len(set(words)) < len(words):
            return f'a value shown twice: {found.group()}'
    return None


def check(document: dict, sent: str) -> None:
    """Check the sentences of a refusal of the request ``sent``: what happened, and the next step.

    :raises AssertionError: one is not plain.
    """
    for fault in document.values():
        if isinstance(fault, dict):
            for sentence in (fault.get('message'), fault.get('next')):
                if sentence and (bad := objection(sentence, sent)):
                    raise AssertionError(f'{bad}: {sentence}')
