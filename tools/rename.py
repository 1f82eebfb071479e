#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Move modules and rename what they define, as a plan says: tools/rename.py [--try] PLAN.yaml, at the root of the work tree.

The plan has three tables. ``modules``: dotted path to dotted path; a package takes its modules along. ``names``: a
definition of a module (its present dotted path) to its new name. ``words``: for names that cannot be resolved, such as
methods and keywords: [{in: [glob, ...], old: word, new: word}]. A word is a Python name; in other files, a whole word.
A fourth, ``aliases``, has modules (future dotted path) whose new name may be taken in a file, with another name for use
there. A fifth, ``packages``, has the docstrings of new packages.

Names are followed through imports and scopes; then every tracked file is searched for paths and dotted paths. Where a
new name is taken already nothing is changed, and the places are listed. Imports are to be sorted afterwards (ruff).
"""

import ast
import builtins
import collections
import fnmatch
import io
import pathlib
import re
import subprocess
import sys
import tokenize

import yaml

ROOT = pathlib.Path.cwd()
TOP = 'manila_lite'
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, *_COMPREHENSIONS)
_WORDS = {ast.ClassDef: 'class ', ast.FunctionDef: 'def ', ast.AsyncFunctionDef: 'async def '}


def dotted(path):
    """Return the name of the module in a file."""
    parts = path.relative_to(ROOT).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def full(name):
    """Return a dotted path that begins with the top package."""
    return name if name.split('.')[0] == TOP else f'{TOP}.{name}'


class Plan:
    """New names by old ones. ``known``: the existing modules."""

    def __init__(self, about, known):
        given = {full(old): full(new) for old, new in (about.get('modules') or {}).items()}
        if lost := sorted(set(given) - known):
            sys.exit(f'no such modules: {lost}')
        self.known, self.modules = known, {}
        for old in sorted(given, key=len):          # a deeper module has the last word
            self.modules.update({m: given[old] + m[len(old):] for m in known if m == old or m.startswith(f'{old}.')})
        self.modules.update(given)
        self.names = {full(old): new for old, new in (about.get('names') or {}).items()}
        self.words = about.get('words') or ()
        self.aliases = {full(new): alias for new, alias in (about.get('aliases') or {}).items()}
        self.used = set()

    def path(self, name):
        """Return the new dotted path of a module or of a definition in one."""
        if name in self.known:
            return self.modules.get(name, name)
        module, _, leaf = name.rpartition('.')
        return f'{self.path(module)}.{self.leaf(name) or leaf}' if module in self.known else name

    def leaf(self, name):
        """Return the new name of a definition, if it has one."""
        if name in self.names:
            self.used.add(name)
        return self.names.get(name)


class Scope:
    """Names that are bound in one scope: to an import (its dotted path), or to any other object (None)."""

    def __init__(self, node, parent):
        self.node, self.parent = node, parent
        self.bound = {}
        self.elsewhere = set()      # names that are global or nonlocal

    def find(self, name):
        """Return the scope that binds the name."""
        scope, inner = self, True
        while scope:
            if name in scope.bound and name not in scope.elsewhere and (inner or not isinstance(scope.node, ast.ClassDef)):
                return scope
            scope, inner = scope.parent, False
        return None


class File:
    """One Python file: its bound and used names, then its edits."""

    def __init__(self, path, plan):
        self.path, self.plan, self.me = path, plan, dotted(path)
        self.text = path.read_text()
        self.lines = self.text.encode().splitlines(keepends=True)
        self.edits, self.problems = {}, []
        self.uses = []          # (name, node, scope)
        self.scopes = []
        self.aliased = {}       # imports whose name is taken here, with the name that they get
        tree = ast.parse(self.text)
        self.parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self._walk(tree, None)

    # Bindings -----------------------------------------------------------------------------

    def _walk(self, node, scope):
        if isinstance(node, (ast.Module, *_SCOPES)):
            self._scope(node, scope)
            return
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                self._place(node, scope).bound.setdefault(node.id, None)
            self.uses.append((node.id, node, scope))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                whole = f'{node.module}.{alias.name}' if isinstance(node, ast.ImportFrom) else alias.name
                if not alias.asname and isinstance(node, ast.Import):
                    whole = whole.partition('.')[0]
                scope.bound[alias.asname or whole.rpartition('.')[2]] = whole
        elif isinstance(node, ast.Global | ast.Nonlocal):
            scope.elsewhere.update(node.names)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            scope.bound.setdefault(node.name, None)
        for child in ast.iter_child_nodes(node):
            self._walk(child, scope)

    def _place(self, node, scope):
        """Return the scope in which an assigned name is bound."""
        while isinstance(self.parents[node], ast.NamedExpr) and isinstance(scope.node, _COMPREHENSIONS):
            scope = scope.parent
        return scope

    def _scope(self, node, scope):
        inner = Scope(node, scope)
        self.scopes.append(inner)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope.bound.setdefault(node.name, None)
            self.uses.append((node.name, node, scope))
        outside = [*getattr(node, 'decorator_list', ()), *getattr(node, 'bases', ()), *getattr(node, 'keywords', ())]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            args = node.args
            every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, [args.vararg, args.kwarg])]
            inner.bound |= dict.fromkeys(arg.arg for arg in every)
            outside += filter(None, [*args.defaults, *args.kw_defaults, getattr(node, 'returns', None),
                                     *(arg.annotation for arg in every)])
        for child in outside:
            self._walk(child, scope)
        for child in ast.iter_child_nodes(node):
            if child not in outside and not isinstance(child, ast.arguments):
                self._walk(child, inner)

    # Edits --------------------------------------------------------------------------------

    def change(self):
        """Compute all edits."""
        self._note()
        self._part()
        if self.aliased:
            lost, self.edits, self.problems = [line for line in self.problems if 'would be' in line], {}, []
            self._note()
            self.problems += lost
        self._quoted()

    def _quoted(self):
        """Rename what is in quotes in ``__all__``, and in annotations."""
        module = self.scopes[0]
        for node in ast.walk(module.node):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier() and (
                    self._is_listed(node) or self._is_annotation(node)):
                whole = module.bound.get(node.value, '')
                new = (self.plan.leaf(f'{self.me}.{node.value}') if whole is None
                       else self._local(node.value, whole) if whole and whole.split('.')[0] == TOP else None)
                if new and new != node.value:
                    self._edit(node.lineno, node.col_offset + 1, node.value, new)

    def _is_listed(self, node):
        up = self.parents[self.parents[node]]
        return isinstance(up, ast.Assign) and getattr(up.targets[0], 'id', '') == '__all__'

    def _is_annotation(self, node):
        up = self.parents[node]
        return getattr(up, 'annotation', None) is node or getattr(up, 'returns', None) is node

    def _part(self):
        """Find imports that would get the same name in one scope, and give those an alias that have one."""
        for scope in self.scopes:
            called = collections.defaultdict(set)
            for name, whole in scope.bound.items():
                if whole and whole.split('.')[0] == TOP:
                    called[self._local(name, whole)].add(whole)
                elif whole is None and not (isinstance(scope.node, ast.Module) and self.plan.leaf(f'{self.me}.{name}')):
                    called[name].add('')
            for name, every in called.items():
                if len({self.plan.path(whole) for whole in every}) > 1:
                    spare = [whole for whole in sorted(every) if self.plan.aliases.get(self.plan.path(whole))]
                    self.aliased |= {whole: self.plan.aliases[self.plan.path(whole)] for whole in spare}
                    if len(every) - len(spare) > 1:
                        self.problems.append(f'{self.path.relative_to(ROOT)}: {name} would be each of {sorted(every)}')

    def _note(self):
        for name, node, scope in self.uses:
            place = scope.find(name)
            if place is None:
                continue
            whole = place.bound[name]
            if whole is None:
                if isinstance(place.node, ast.Module) and (new := self.plan.leaf(f'{self.me}.{name}')):
                    self._rename(node, name, new, scope, place)
                continue
            if whole.split('.')[0] == TOP:
                if (new := self._local(name, whole)) != name:
                    self._rename(node, name, new, scope, place)
                self._attributes(node, whole)
        for node in ast.walk(self.scopes[0].node):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._imported(node)

    def _local(self, name, whole):
        """Return the future name of an import in this file."""
        if name != whole.rpartition('.')[2]:
            return name
        return self.aliased.get(whole) or self.plan.path(whole).rpartition('.')[2]

    def _attributes(self, node, whole):
        while isinstance(parent := self.parents.get(node), ast.Attribute) and parent.value is node:
            whole = f'{whole}.{parent.attr}'
            module = whole.rpartition('.')[0]
            if whole in self.plan.known:
                new = self.plan.path(whole).rpartition('.')[2]
            elif module in self.plan.known:
                new = self.plan.leaf(whole)
            else:
                return
            if new and new != parent.attr:
                self._edit(parent.end_lineno, parent.end_col_offset - len(parent.attr.encode()), parent.attr, new)
            node = parent

    def _rename(self, node, name, new, scope, place):
        if isinstance(node, ast.Name):
            self._edit(node.lineno, node.col_offset, name, new)
        else:
            self._edit(node.lineno, node.col_offset + len(_WORDS[type(node)]), name, new)
        taken = scope.find(new)
        if taken is not None and not self._goes(taken, new):
            whole = taken.bound[new]
            alias = self.plan.aliases.get(self.plan.path(place.bound[name])) if place.bound[name] else None
            if alias and place.bound[name] not in self.aliased:
                self.aliased[place.bound[name]] = alias
            elif not (whole and place.bound[name] and self.plan.path(whole) == self.plan.path(place.bound[name])):
                self.problems.append(f'{self.path.relative_to(ROOT)}:{node.lineno}: {name} -> {new}, which is '
                                     f'{whole or "a name of this file"}')
        elif hasattr(builtins, new):
            self.problems.append(f'{self.path.relative_to(ROOT)}:{node.lineno}: {name} -> {new}, which is built in')

    def _goes(self, scope, name):
        whole = scope.bound[name]
        if whole is None:
            return isinstance(scope.node, ast.Module) and f'{self.me}.{name}' in self.plan.names
        return whole.split('.')[0] == TOP and self._local(name, whole) != name

    def _imported(self, node):
        whole = f'{node.module}.' if isinstance(node, ast.ImportFrom) else ''
        if isinstance(node, ast.ImportFrom) and (node.level or node.module.split('.')[0] != TOP):
            return
        groups = collections.defaultdict(list)
        for alias in node.names:
            if not whole and alias.name.split('.')[0] != TOP:
                return
            module, _, leaf = self.plan.path(whole + alias.name).rpartition('.')
            called = alias.asname or self.aliased.get(whole + alias.name)
            groups[module].append(f'{leaf} as {called}' if called and called != leaf else leaf)
        indent = ' ' * node.col_offset
        if isinstance(node, ast.ImportFrom):
            made = [f'from {module} import {", ".join(names)}' for module, names in groups.items()]
            made = [line if len(indent + line) <= 120 else line.replace(' import ', ' import (') + ')' for line in made]
        else:
            made = [f'import {module}.{name}'.replace(' .', ' ') for module, names in groups.items() for name in names]
        before = self._source(node)
        after = f'\n{indent}'.join(made)
        if re.sub(r'[\s(),]+', ' ', before).strip() == re.sub(r'[\s(),]+', ' ', after).strip():
            return
        if '#' in before:
            self.problems.append(f'{self.path.relative_to(ROOT)}:{node.lineno}: an import with a comment')
        self.edits[node.lineno, node.col_offset] = (node.end_lineno, node.end_col_offset, after)

    def _source(self, node):
        lines = self.lines[node.lineno - 1:node.end_lineno]
        lines[-1] = lines[-1][:node.end_col_offset]
        lines[0] = lines[0][node.col_offset:]
        return b''.join(lines).decode()

    def _edit(self, line, column, old, new):
        there = self.lines[line - 1][column:column + len(old.encode())].decode()
        if there != old:
            self.problems.append(f'{self.path.relative_to(ROOT)}:{line}: {there!r} is not {old!r}')
        self.edits[line, column] = (line, column + len(old.encode()), new)

    def edited(self):
        """Return the new text of the file."""
        lines = list(self.lines)
        for (line, column), (end_line, end_column, new) in sorted(self.edits.items(), reverse=True):
            after = lines[end_line - 1][end_column:]
            lines[line - 1:end_line] = [lines[line - 1][:column] + new.encode() + after]
        return b''.join(lines).decode()


def tracked(*what):
    """Return the files of the work tree."""
    out = subprocess.run(['git', 'ls-files', '-z', *what], capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in out.split('\0') if name and (ROOT / name).is_file() and not (ROOT / name).is_symlink()]


def in_words(plan):
    """Return a function that renames modules and definitions in any text."""
    table = {}
    for old in plan.names:
        new = plan.path(old)
        table |= {old: new, ':'.join(old.rsplit('.', 1)): ':'.join(new.rsplit('.', 1))}
    for old, new in plan.modules.items():
        before, after = old.replace('.', '/'), new.replace('.', '/')
        table |= {old: new, before: after, f'{before}.py': f'{after}.py'}
        short, shorter = before.partition('/')[2], after.partition('/')[2]
        table |= {f'{short}.py': f'{shorter}.py', f'{short}/': f'{shorter}/'}
    if not table:
        return lambda text: text
    longest_first = sorted(table, key=len, reverse=True)
    names = re.compile(r'(?<![\w.-])(?<!\w/)((?:\.\./|\./|/)?)(' + '|'.join(map(re.escape, longest_first)) + r')(?!\w)')

    def changed(match):
        # "/operations/" alone is a path of the API.
        return match[0] if match[1] == '/' and not match[2].startswith(TOP) else match[1] + table[match[2]]
    return lambda text: names.sub(changed, text)


def in_texts(text, say):
    """Return Python text with its strings and comments changed: names were followed before."""
    lines = text.splitlines(keepends=True)
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline)
              if token.type in (tokenize.STRING, tokenize.COMMENT)]
    for token in reversed(tokens):
        (line, column), (end_line, end_column) = token.start, token.end
        before, after = lines[line - 1][:column], lines[end_line - 1][end_column:]
        lines[line - 1:end_line] = [before + say(token.string) + after]
    return ''.join(lines)


def reworded(path, text, rule):
    """Return the text with a word replaced, as the rule says."""
    globs = rule.get('in', ['*'])
    name = str(path.relative_to(ROOT))
    if not any(fnmatch.fnmatch(name, glob) for glob in ([globs] if isinstance(globs, str) else globs)):
        return text
    old, new = rule['old'], rule['new']
    if path.suffix != '.py' or rule.get('anywhere'):
        return re.sub(rf'(?<!\w){re.escape(old)}(?!\w)', new, text)
    if old not in text:
        return text
    lines = text.splitlines(keepends=True)
    edits = [token.start for token in tokenize.generate_tokens(io.StringIO(text).readline)
             if token.type == tokenize.NAME and token.string == old]
    for line, column in sorted(edits, reverse=True):
        lines[line - 1] = lines[line - 1][:column] + new + lines[line - 1][column + len(old):]
    return ''.join(lines)


def move(plan):
    """Move the files to the places of their new modules."""
    for old, new in sorted(plan.modules.items(), key=lambda pair: -len(pair[0])):
        source, target = ROOT / old.replace('.', '/'), ROOT / new.replace('.', '/')
        if source == target:
            continue
        if source.with_suffix('.py').is_file():
            pairs = [(source.with_suffix('.py'), target.with_suffix('.py'))]
        else:
            data = [path for path in tracked(str(source))
                    if path.parent == source and (path.suffix != '.py' or path.name == '__init__.py')]
            pairs = [(path, target / path.name) for path in data]
        for here, there in pairs:
            there.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(['git', 'mv', here, there], check=True)


def open_packages(plan, docs):
    """Write the ``__init__.py`` of new packages, and delete empty folders."""
    for path in {(ROOT / new.replace('.', '/')).parent for new in plan.modules.values()}:
        if path.is_dir() and not (path / '__init__.py').exists():
            name = '.'.join(path.relative_to(ROOT / TOP).parts)
            if name not in docs and not name.startswith('tests.'):
                print('!', f'no docstring for {name}')
            (path / '__init__.py').write_text('# SPDX-License-Identifier: Apache-2.0\n'
                                              + (f'"""{docs[name]}"""\n' if name in docs else ''))
            subprocess.run(['git', 'add', path / '__init__.py'], check=True)
    for path in sorted((ROOT / TOP).rglob('*'), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def main():
    """Carry out the plan."""
    about = yaml.safe_load(pathlib.Path(sys.argv[-1]).read_text())
    sources = tracked('*.py')
    plan = Plan(about, {dotted(path) for path in sources})
    files = [File(path, plan) for path in sources]
    for file in files:
        file.change()
    problems = sorted({problem for file in files for problem in file.problems})
    problems += [f'nothing is called {name}' for name in sorted(set(plan.names) - plan.used)]
    for problem in problems:
        print('!', problem)
    if '--try' in sys.argv or problems:
        sys.exit(bool(problems))
    for file in files:
        if file.edits:
            file.path.write_text(file.edited())
    say = in_words(plan)
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        new = in_texts(text, say) if path.suffix == '.py' else say(text)
        for rule in plan.words:
            new = reworded(path, new, rule)
        if new != text:
            path.write_text(new)
    move(plan)
    open_packages(plan, about.get('packages') or {})


main()
