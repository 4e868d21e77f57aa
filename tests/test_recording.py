"""The recording in the README was made by `make recording`, of the demo as it is."""

import ast
import inspect

from tests.support.recording import FILE, LAST, UPDATE, Line, draw, recorded, rows, shape, shown

from reroll_dev.cli import demo

SVG = FILE.read_text(encoding="utf-8")


def said(function: str) -> list[str]:
    """The sentences that a function of the demo prints in every run."""
    [tree] = ast.parse(inspect.getsource(getattr(demo, function))).body
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        text.value
        for call in sorted(calls, key=lambda node: node.lineno)
        if isinstance(call.func, ast.Name) and call.func.id in {"title", "say"}
        for text in call.args
        if isinstance(text, ast.Constant)
    ]


def test_the_picture_is_what_the_recorder_draws_of_what_it_recorded() -> None:
    lines = recorded(SVG)

    assert len(lines) > 30
    assert draw(lines) == SVG, f"docs/images/demo.svg is not as it was recorded; run `{UPDATE}`"


def test_it_shows_the_demo_of_today_from_its_first_sentence_to_its_last() -> None:
    sentences = said("play")
    texts = [line.text for line in recorded(SVG)]

    assert len(sentences) > 5
    assert [text for text in texts if text in sentences] == sentences, f"run `{UPDATE}`"


def test_it_loads_nothing_and_runs_nothing() -> None:
    assert "<script" not in SVG
    assert "http" not in SVG.replace('xmlns="http://www.w3.org/2000/svg"', "").replace(
        "curl http://", ""
    )


def test_a_rollout_goes_on_in_one_row_and_long_pauses_are_short() -> None:
    steps = ["one", "  0 of 2 updated, 2 ready", "  2 of 2 updated, 2 ready", "two"]

    found = rows([Line(10.0 * at, text) for at, text in enumerate(steps)])

    assert [text.row for text in found] == [0, 1, 1, 2]
    assert found[1].end == found[2].begin
    assert found[-1].begin < 5


def test_two_runs_have_the_same_shape() -> None:
    one = ["", "a", "  pod    nginx-5f-x1  Running", "  1 of 3 updated, 3 ready", LAST, "next"]
    other = ["", "a", "  pod    nginx-77-b2  Running", "  3 of 3 updated, 2 ready", "", LAST]

    first, second = ([x.text for x in shown(Line(0, text) for text in run)] for run in (one, other))

    assert shape(first) == shape(second) == ["a", "  pod    nginx-#  Running"]
