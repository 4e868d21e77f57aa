"""How a table is laid out: at any width its words stay whole."""

from hypothesis import given
from hypothesis import strategies as st

from reroll.cli.tables import laid_out

COLUMNS = ("WORKLOAD", "EFFECT", "PODS", "REASON", "BECAUSE")
ROWS = [
    ("deployment/web", "rolls", "3", "ConfigChanged", "configmap/app changed (LOG_LEVEL)"),
    (
        "statefulset/database", "held", "1", "SourceMissing",
        "a source that its pods cannot start without does not exist: Secret shop/db; create it",
    ),
]  # fmt: skip


def text(width: int | None) -> str:
    return "\n".join(line for lines in laid_out(COLUMNS, ROWS, width) for line in lines)


def test_without_a_limit_each_row_is_one_line() -> None:
    assert [len(lines) for lines in laid_out(COLUMNS, ROWS)] == [1, 1, 1]


def test_what_is_too_long_goes_on_in_its_own_column() -> None:
    assert (
        text(80)
        == """\
WORKLOAD              EFFECT  PODS  REASON         BECAUSE
deployment/web        rolls   3     ConfigChanged  configmap/app changed
                                                   (LOG_LEVEL)
statefulset/database  held    1     SourceMissing  a source that its pods cannot
                                                   start without does not exist:
                                                   Secret shop/db; create it"""
    )


def test_a_column_without_room_goes_below_its_row() -> None:
    assert (
        text(60)
        == """\
WORKLOAD              EFFECT  PODS  REASON
deployment/web        rolls   3     ConfigChanged
    because: configmap/app changed (LOG_LEVEL)
statefulset/database  held    1     SourceMissing
    because: a source that its pods cannot start without
      does not exist: Secret shop/db; create it"""
    )


def test_what_says_nothing_is_left_out_below_a_row() -> None:
    rows = [("a" * 20, "-"), ("b" * 20, "c" * 20)]
    below = [[], [f"    says: {'c' * 20}"]]
    assert [lines[1:] for lines in laid_out(("WHAT", "SAYS"), rows, 32)[1:]] == below


def test_a_line_break_in_a_cell_is_one() -> None:
    lines = laid_out(("A", "B"), [("x", "one\n-> two")], 40)
    assert lines == [["A  B"], ["x  one", "   -> two"]]
    assert laid_out(("A", "B"), [("", "")], 10) == [["A  B"], [""]]


WORD = st.text("abc-/", min_size=2, max_size=12)
CELL = st.lists(WORD, min_size=1, max_size=8).map(" ".join)


@given(
    st.integers(1, 5).flatmap(lambda n: st.lists(st.tuples(*[CELL] * n), min_size=1, max_size=4)),
    st.integers(30, 120),
)
def test_no_word_is_ever_cut_and_no_line_is_longer_than_its_words_ask(
    rows: list[tuple[str, ...]], width: int
) -> None:
    columns = [f"C{number}" for number in range(len(rows[0]))]
    head, *lines = laid_out(columns, rows, width)
    for row, printed in zip(rows, lines, strict=True):
        words = sorted(word for cell in row for word in cell.split())
        below = {f"{name.lower()}:" for name in columns}
        assert sorted(w for line in printed for w in line.split() if w not in below) == words
    assert max(len(line) for one in (head, *lines) for line in one) <= width
