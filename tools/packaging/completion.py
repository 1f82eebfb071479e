# SPDX-License-Identifier: Apache-2.0
"""Print the completion of manila-manage for bash, from its parser: tools/packaging/completion.py"""

import argparse

import parsers

_SCRIPT = """# Completion of manila-manage for bash. Made by tools/packaging/completion.py.

_manila_manage() {{
    local word path='' option='' at words='' values=''
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${{COMP_WORDS[at]}}
        if [[ -n $option ]]; then
            option=''
            continue
        fi
        case "$path $word" in
            {commands}) path+=" $word" ;;
            {valued}) option=$word ;;
        esac
    done
    word=${{COMP_WORDS[COMP_CWORD]}}
    if [[ -n $option ]]; then
        case "$path $option" in
{values}
            *) COMPREPLY=($(compgen -f -- "$word")); return ;;
        esac
        COMPREPLY=($(compgen -W "$values" -- "$word"))
        return
    fi
    case "$path" in
{words}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o filenames -F _manila_manage manila-manage
"""


def script(parser: argparse.ArgumentParser) -> str:
    """Return the completion for a parser."""
    commands, valued, values, words = [], [], [], []
    for path, one in parsers.walk(parser):
        before = ''.join(f' {name}' for name in path)
        options = [action for action in parsers.actions(one) if action.option_strings]
        known = [
            *parsers.subparsers(one),
            *(name for action in options for name in action.option_strings if name != '-h'),
        ]
        words.append(f"        '{before}') words='{' '.join(known)}' ;;")
        if path:
            commands.append(before)
        for action in options:
            if action.nargs != 0:
                names = [f'{before} {name}' for name in action.option_strings]
                valued += names
                if action.choices:
                    values.append(
                        f"            {_pattern(names)}) values='{' '.join(map(str, action.choices))}' ;;"
                    )
    return _SCRIPT.format(
        commands=_pattern(commands), valued=_pattern(valued), values='\n'.join(values), words='\n'.join(words)
    )


def _pattern(texts: list[str]) -> str:
    return '|'.join(f"'{text}'" for text in texts)


if __name__ == '__main__':
    print(
        script(parsers.of(next(entry for entry in parsers.commands() if entry.name == 'manila-manage'))),
        end='',
    )
