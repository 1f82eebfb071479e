# SPDX-License-Identifier: Apache-2.0
"""Kinds of faults: those of cosmic-ray that a developer could make, and our own, for typical code of this product.

Ours have the interface of cosmic-ray's: the places of faults in a node, and the node with a fault. They change parso's
trees.
"""

import re
from collections.abc import Iterator
from typing import Any

import parso
from cosmic_ray import mutating
from cosmic_ray.operators import provider
from cosmic_ray.operators.operator import Example, Operator

_COSMIC_RAY = (
    *(f'ReplaceComparisonOperator_{pair}' for pair in (
        'Eq_NotEq', 'NotEq_Eq', 'Lt_LtE', 'LtE_Lt', 'Gt_GtE', 'GtE_Gt', 'Is_IsNot', 'IsNot_Is')),
    *(f'ReplaceBinaryOperator_{pair}' for pair in ('Add_Sub', 'Sub_Add', 'Mul_Add', 'BitAnd_BitOr', 'BitOr_BitAnd')),
    *(f'ReplaceUnaryOperator_Delete_{sign}' for sign in ('USub', 'Invert', 'Not')),
    'ReplaceTrueWithFalse', 'ReplaceFalseWithTrue', 'ReplaceAndWithOr', 'ReplaceOrWithAnd',
    'ReplaceBreakWithContinue', 'ReplaceContinueWithBreak', 'ExceptionReplacer', 'NumberReplacer', 'ZeroIterationForLoop',
)
#: Calls whose arguments are terms of a condition.
_TERMS = {'where', 'and_', 'or_', 'all', 'any'}
#: Personas of policies, each with the next that admits more callers.
_LOOSER = {'ADMIN': 'MEMBER', 'MEMBER': 'READER', 'SERVICE': 'MEMBER', 'ADMIN_OR_SERVICE_OR_OWNER': 'MEMBER'}


def _place(node: Any) -> tuple[Any, Any]:
    return node.start_pos, node.end_pos


def _code(text: str, old: Any) -> Any:
    """Return a leaf with this text in place of a node, with the node's prefix."""
    leaf = old.get_first_leaf()
    return parso.python.tree.Name(text, old.start_pos, prefix=leaf.prefix)


class _Ours(Operator):
    """A kind of fault with at most one place in a node."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if (found := self._found(node)) is not None:
            yield _place(found)

    def _found(self, node: Any) -> Any:
        raise NotImplementedError

    #: Code before and after the fault.
    TRIED = ('', '')

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example(*cls.TRIED),)


def _called(node: Any) -> str:
    """Return the last name of the called function, if the node is a call."""
    if node.type not in ('atom_expr', 'power') or node.children[-1].type != 'trailer' or node.children[-1].children[0] != '(':
        return ''
    before = node.children[-2]
    return before.children[-1].value if before.type == 'trailer' and before.children[0] == '.' else getattr(before, 'value', '')


class StatementDropped(_Ours):
    """A dropped statement that is only a call. Logging is left out."""

    TRIED = ('def f():\n    LOG.info(1)\n    a.check(x)\n    y = b()\n', 'def f():\n    LOG.info(1)\n    None\n    y = b()\n')

    def _found(self, node):
        if node.type != 'simple_stmt' or not _called(node.children[0]) or node.get_code().strip().startswith('LOG.'):
            return None
        return node.children[0]

    def mutate(self, node, index):
        node.children[0] = _code('None', node.children[0])
        return node


class GuardNever(_Ours):
    """An ``if`` whose condition never holds."""

    TRIED = ('if a and b:\n    raise C\n', 'if False:\n    raise C\n')

    def _found(self, node):
        return node.children[1] if node.type == 'if_stmt' else None

    def mutate(self, node, index):
        node.children[1] = _code('False', node.children[1])
        return node


class _ArgumentDropped(_Ours):
    """A dropped argument."""

    def mutation_positions(self, node):
        for argument in self._arguments(node):
            yield _place(argument)

    def _arguments(self, node):
        raise NotImplementedError

    def mutate(self, node, index):
        argument = list(self._arguments(node))[index]
        around = argument.parent
        if around.type == 'trailer':
            around.children.remove(argument)
            return node
        at = around.children.index(argument)
        comma = slice(at, at + 2) if at + 1 < len(around.children) else slice(at - 1, at + 1)
        del around.children[comma]
        return node


def _arguments_of(trailer: Any) -> list[Any]:
    inside = trailer.children[1]
    if inside == ')':
        return []
    return [child for child in inside.children if child != ','] if inside.type == 'arglist' else [inside]


class KeywordDropped(_ArgumentDropped):
    """A dropped keyword argument of a call."""

    TRIED = ('LOG.info(a=1)\nzip(a, strict=True)\nget(x, own=True)\n', 'LOG.info(a=1)\nzip(a, strict=True)\nget(x)\n')

    def _arguments(self, node):
        if _called(node) and not node.get_code().strip().startswith('LOG.'):
            yield from (each for each in _arguments_of(node.children[-1])
                        if each.type == 'argument' and getattr(each.children[1], 'value', '') == '='
                        and each.children[0].value != 'strict')     # zip's: equal lengths are the code's own check


class TermDropped(_ArgumentDropped):
    """A dropped term of a condition with several."""

    TRIED = ('any(x for x in y)\nq.where(a == b, c)\n', 'any(x for x in y)\nq.where( c)\n')

    def _arguments(self, node):
        if _called(node) in _TERMS:
            found = _arguments_of(node.children[-1])
            yield from found if len(found) > 1 or _called(node) == 'where' else ()


class RowDropped(_Ours):
    """A dropped row of a table of the module."""

    TRIED = ('T = (row(1), row(2))\ndef f():\n    return (long, longer)\n',
             'T = ( row(2))\ndef f():\n    return (long, longer)\n')

    def mutation_positions(self, node):
        for row in self._rows(node):
            yield _place(row)

    def _rows(self, node):
        if node.type != 'testlist_comp' or not _is_table(node):
            return []
        return [child for child in node.children if child != ',' and child.type not in ('sync_comp_for', 'comp_for')
                and len(child.get_code().strip()) > 2]

    def mutate(self, node, index):
        row = self._rows(node)[index]
        at = node.children.index(row)
        del node.children[at:at + 2]
        return node


def _is_table(node: Any) -> bool:
    while node is not None and node.type != 'file_input':
        if node.type in ('funcdef', 'lambdef', 'classdef'):
            return False
        node = node.parent
    return True


class RuleLoosened(_Ours):
    """A policy rule that admits more callers."""

    TRIED = ("rule(CREATE, ADMIN, 'Create.')\n", "rule(CREATE, MEMBER, 'Create.')\n")

    def _found(self, node):
        if _called(node) != 'rule':
            return None
        found = _arguments_of(node.children[-1])
        return found[1] if len(found) > 2 and found[1].type == 'name' and found[1].value in _LOOSER else None

    def mutate(self, node, index):
        persona = self._found(node)
        persona.value = _LOOSER[persona.value]
        return node


class VersionEarlier(_Ours):
    """A call or field that exists one version too early."""

    TRIED = ("Field('a', since='2.54')\n", "Field('a', since='2.53')\n")

    def _found(self, node):
        return node if node.type == 'string' and re.fullmatch(r"'2\.\d+'", node.value) and node.value != "'2.0'" else None

    def mutate(self, node, index):
        node.value = f"'2.{int(node.value[3:-1]) - 1}'"
        return node


def wrong() -> list[str]:
    """Return the wrong results of our operators on their examples."""
    made = {name: mutating.mutate_code(each.TRIED[0], each(), 0) for name, each in OURS.items()}
    return [f'{name}: {made[name]!r} is not {each.TRIED[1]!r}' for name, each in OURS.items()
            if made[name] != each.TRIED[1]]


OURS = {each.__name__: each for each in (StatementDropped, GuardNever, KeywordDropped, TermDropped, RowDropped, RuleLoosened,
                                         VersionEarlier)}


def all_of_them() -> dict[str, Operator]:
    """Return the operators by name."""
    theirs = provider.OperatorProvider()
    return {name: theirs[name]() for name in _COSMIC_RAY} | {name: each() for name, each in OURS.items()}
