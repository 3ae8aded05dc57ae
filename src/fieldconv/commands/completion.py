"""`fieldconv --print-completion`: a script that completes commands, options and values in a shell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product

from fieldconv import networks, tasks
from fieldconv.commands.arguments import Arguments

SHELLS = {"bash": "", "zsh": "autoload -U +X bashcompinit && bashcompinit\n"}
"""What each shell needs before the script, which is bash; zsh understands it."""

SCRIPT = """\
# Completes the words of fieldconv. To turn it on: source this file.
_fieldconv() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
    local command="${COMP_WORDS[1]}" options="" values=""
    if [ "$COMP_CWORD" -gt 2 ] && [ "$command" = datasets ]; then command="datasets ${COMP_WORDS[2]}"; fi
    if [ "$COMP_CWORD" -eq 1 ]; then command="" before=""; fi
    case "$command" in
OPTIONS
    esac
    case "$command $before" in
VALUES
    esac
    case "$word" in -*) values="$options" ;; esac
    COMPREPLY=($(compgen -W "$values" -- "$word"))
}
complete -o default -F _fieldconv fieldconv"""


def completion(
    shell: str, commands: Sequence[str], arguments_of: Callable[[str, list[str]], Arguments]
) -> str:
    """Return the script for a shell, from the arguments of each command."""
    groups: dict[str, list[str]] = {}  # first word: second words
    for first, *second in map(str.split, commands):
        groups.setdefault(first, []).extend(second)
    options, values = [_case('""', "options", ["--help", "--version"])], [_case('" "', "values", groups)]
    values += [_case(f'"{group} {group}"', "values", names) for group, names in groups.items() if names]
    for name in commands:
        choices: dict[str, set[str]] = {"": set()}
        for words in _beginnings(name):
            for option, known in arguments_of(name, words).choices.items():
                choices.setdefault(option, set()).update(known)
        options.append(_case(f'"{name}"', "options", filter(None, choices)))
        named = {f'"{name} {option}"': known for option, known in choices.items() if option and known}
        others = {f'"{name} -"*': set[str](), f'"{name} "*': choices[""]}  # values of other options are files
        values += [_case(pattern, "values", sorted(known)) for pattern, known in {**named, **others}.items()]
    script = SCRIPT.replace("OPTIONS", "\n".join(options)).replace("VALUES", "\n".join(values))
    return SHELLS[shell] + script


def _case(pattern: str, variable: str, words: Iterable[str]) -> str:
    return f'        {pattern}) {variable}="{" ".join(words)}" ;;'


def _beginnings(name: str) -> list[list[str]]:
    """Return words after a command that change its options."""
    if name != "train":
        return [[]]
    names = product(tasks.task_names(), networks.network_names())
    return [[task, "--network", network] for task, network in names]
