"""`diorama completion bash|zsh|fish`: a script that completes commands, options and choices in that shell.

The script is written from the parsers themselves, so a command added tomorrow completes tomorrow.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = """\
examples:
  source <(diorama completion bash)                                    in this shell; in ~/.bashrc for every one
  diorama completion zsh > "${fpath[1]}/_diorama"                      then start a new shell
  diorama completion fish > ~/.config/fish/completions/diorama.fish
"""


@dataclass(frozen=True, slots=True)
class Level:
    """What may follow some words: `diorama topic` has subcommands, `diorama topic echo` options and topics."""

    words: tuple[str, ...]
    commands: dict[str, str]  # name -> what it does
    options: dict[str, str]  # name -> what it does
    choices: dict[str, tuple[str, ...]]  # of the options that take one of a few values
    values: tuple[str, ...]  # options that take any other value


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "completion",
        help="print a script that completes commands in your shell",
        description="Print a script for a shell, with which the Tab key completes commands, options and choices.",
        epilog=EXAMPLES,
    )
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from diorama.cli.main import build_parser

    found = list(levels(build_parser()))
    print({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](found), end="")
    return 0


def levels(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[Level]:
    """Every command and what may follow it, the outer ones first."""
    commands: dict[str, str] = {}
    options: dict[str, str] = {}
    choices: dict[str, tuple[str, ...]] = {}
    values: list[str] = []
    below: list[Level] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            commands |= {each.dest: each.help or "" for each in action._choices_actions}
            for name, sub in action.choices.items():
                below += levels(sub, (*words, name))
            continue
        for option in action.option_strings:
            options[option] = (action.help or "").partition(";")[0].replace("%%", "%")
            if action.choices:
                choices[option] = tuple(str(choice) for choice in action.choices)
            elif action.nargs != 0:
                values.append(option)
        if not action.option_strings and action.choices:
            commands |= {str(choice): "" for choice in action.choices}
    yield Level(words, commands, options, choices, tuple(values))
    yield from below


def bash(found: list[Level]) -> str:
    """The script for bash: which command the line is in, then what may follow; files where nothing else may."""
    walk, answers = [], []
    for level in found:
        words = " ".join(level.words)
        walk += [
            f'      "{words}:{name}") words="{" ".join((*level.words, name))}" ;;' for name in level.commands
        ]
        for option, values in level.choices.items():
            answers.append(f'    "{words}:{option}") choices="{" ".join(values)}" ;;')
        answers += [f'    "{words}:{option}") files=1 ;;' for option in level.values]
    # Where no command may follow, a file may: options only for who has begun one.
    lists = [
        f'    "{" ".join(level.words)}:{"" if level.commands else "-"}"*) '
        f'choices="{" ".join((*level.commands, *level.options))}" ;;'
        for level in found
    ]
    return "\n".join(
        [
            "# bash completion of diorama; written by: diorama completion bash",
            "_diorama() {",
            '  local words="" choices="" files="" current="${COMP_WORDS[COMP_CWORD]}" index',
            "  for ((index = 1; index < COMP_CWORD; index++)); do",
            '    case "$words:${COMP_WORDS[index]}" in',
            *walk,
            "    esac",
            "  done",
            '  case "$words:${COMP_WORDS[COMP_CWORD - 1]}" in',
            *answers,
            "  esac",
            '  [ -n "$choices$files" ] || case "$words:$current" in',
            *lists,
            "  esac",
            '  COMPREPLY=($(compgen -W "$choices" -- "$current"))',
            "  local IFS=$'\\n'  # names of files have blanks",
            '  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))',
            "}",
            "complete -o filenames -F _diorama diorama",
            "",
        ]
    )


def zsh(found: list[Level]) -> str:
    """The script for zsh: that of bash, through zsh's own bridge, so there is one logic to get right."""
    return "\n".join(
        [
            "#compdef diorama",
            "# zsh completion of diorama; written by: diorama completion zsh",
            "autoload -U +X bashcompinit && bashcompinit",
            bash(found),
        ]
    )


def fish(found: list[Level]) -> str:
    """The script for fish: one line for each thing that may follow, with what it does."""
    lines = ["# fish completion of diorama; written by: diorama completion fish"]
    for level in found:
        seen = " and ".join(f"__fish_seen_subcommand_from {word}" for word in level.words)
        below = " ".join(level.commands)
        here = f"{seen}; and not __fish_seen_subcommand_from {below}" if seen and below else seen
        first = here or "__fish_use_subcommand"
        for name, about in level.commands.items():
            lines.append(f"complete -c diorama -f -n {_quoted(first)} -a {name} -d {_quoted(about)}")
        for option, about in level.options.items():
            kind = "-l" if option.startswith("--") else "-s"
            taken = f" -x -a {_quoted(' '.join(level.choices[option]))}" if option in level.choices else ""
            taken = " -r" if option in level.values else taken
            when = f" -n {_quoted(seen)}" if seen else ""
            lines.append(f"complete -c diorama{when} {kind} {option.lstrip('-')}{taken} -d {_quoted(about)}")
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
