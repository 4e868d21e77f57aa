"""The command line as a whole: what it lists, and what it says to a word that it does not know."""

import argparse
from collections.abc import Iterator

import pytest
from tests.support.command import reroll

from reroll import __version__
from reroll.cli.app import COMMANDS, GROUPS, parser_for, run
from reroll.cli.errors import CommandError, Exit
from reroll.cli.help import Help
from reroll.cli.targets import targets, workload_target


def test_the_help_lists_every_command_under_a_heading() -> None:
    text = parser_for([]).format_help()

    lines = [line.split() for line in text.splitlines()]
    assert [line[0] for line in lines if line and line[0] in COMMANDS] == [*COMMANDS]
    assert all(f"\n{heading}:\n" in text for heading in GROUPS)
    assert max(map(len, text.splitlines())) <= 80
    assert "docs/" not in text, "an installed user has no such folder"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("docter", "did you mean `reroll doctor`?"),
        ("xyz", "`reroll --help` lists them"),
    ],
)
def test_a_command_that_there_is_not_is_a_sentence(
    word: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([word]) == Exit.USAGE
    assert capsys.readouterr().err == f"reroll: there is no command {word!r}; {said}\n"


def test_the_version_is_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["version"]) == Exit.OK
    assert capsys.readouterr().out == f"reroll {__version__}\n"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["deployment", "web"], ("deployment/web",)),
        (["deploy", "web", "api"], ("deploy/web", "deploy/api")),
        (["deploy/web", "sts/db"], ("deploy/web", "sts/db")),
        (["web"], ("web",)),
        ([], ()),
    ],
)
def test_a_kind_and_names_are_taken_as_kubectl_takes_them(
    words: list[str], meant: tuple[str, ...]
) -> None:
    assert targets(words) == meant


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("web", "write KIND/NAME, such as deployment/web"),
        ("pod/web-1", "name what makes the pod"),
        ("configmap/app", "`reroll graph configmap/app` shows who uses it"),
        ("secret/db", "`reroll graph secret/db` shows who uses it"),
        ("widget/x", "write KIND/NAME with one of deployment"),
    ],
)
def test_what_is_no_workload_is_told_what_to_write(word: str, said: str) -> None:
    with pytest.raises(CommandError, match="names no workload") as caught:
        workload_target(word)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "command",
    [
        ("approve", "configmap/app"),
        ("reject", "configmap/app", "--reason", "no"),
        ("promote", "deployment/web"),
        ("abort", "deployment/web"),
        ("revisions", "deployment/web"),
    ],
    ids=lambda command: command[0],
)
def test_what_is_about_named_objects_does_not_offer_all_namespaces(
    command: tuple[str, ...],
) -> None:
    done = reroll(*command, "-A")
    assert done.code == Exit.USAGE
    assert "unrecognized arguments: -A" in done.err


def test_every_help_text_fits_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
        yield parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for sub in action.choices.values():
                    yield from parsers(sub)

    for parser in parsers(parser_for([], completing=True)):
        lines = parser.format_help().splitlines()
        assert [line for line in lines if len(line) > 80] == [], parser.prog


def test_prose_of_help_fills_the_terminal_and_examples_stay_as_they_are() -> None:
    text = "One sentence\nthat goes on.\n\n  an    example\n\nThe end,\nat last."

    formatter = Help("x", width=60)
    formatter.add_text(text)

    assert formatter.format_help() == (
        "One sentence that goes on.\n\n  an    example\n\nThe end, at last.\n"
    )


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["status", "-o", "xml"], "-o/--output: invalid choice: 'xml'"),
        (["status", "--nope"], "unrecognized arguments: --nope"),
        (["key"], "the following arguments are required: COMMAND"),
        (["history", "--limit", "x"], "--limit: invalid int value: 'x'"),
    ],
)
def test_wrong_usage_is_one_sentence_that_names_the_help(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(argv) == Exit.USAGE
    seen = capsys.readouterr()
    assert (seen.out, len(seen.err.splitlines())) == ("", 1)
    assert seen.err.startswith(f"reroll: {said}")
    assert " --help`\n" in seen.err
