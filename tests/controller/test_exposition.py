"""The text of metrics, read by the reference parser of the format."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client import Histogram as Reference
from prometheus_client.parser import text_string_to_metric_families

from reroll.answers.doctor.scrape import _sample
from reroll.controller.exposition import Family, Histogram, Registry, process_families

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def parsed(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def ours(text: str) -> Samples:
    lines = [_sample(line) for line in text.split("\n") if line and not line.startswith("#")]
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for one in lines}


@given(st.dictionaries(st.tuples(st.text(), st.text()), st.floats(allow_nan=False)))
def test_whatever_labels_hold_both_parsers_read_what_was_set(
    values: dict[tuple[str, str], float],
) -> None:
    registry = Registry()
    family = registry.add(Family("answer", "gauge", "Of a test", ("a", "b")))
    for labels, value in values.items():
        family.set(value, *labels)

    expected = {("answer", (("a", a), ("b", b))): value for (a, b), value in values.items()}
    text = registry.render().decode("utf-8", "surrogatepass")
    assert parsed(text) == ours(text) == expected


@given(st.lists(st.floats(0, 100)))
def test_a_histogram_is_that_of_the_reference_client(seconds: list[float]) -> None:
    buckets = (0.5, 1, 5, 50)
    registry, reference = Registry(), CollectorRegistry()
    mine = registry.add(Histogram("wait_seconds", "Of a test", buckets))
    theirs = Reference("wait_seconds", "Of a test", registry=reference, buckets=buckets)
    for value in seconds:
        mine.observe(value)
        theirs.observe(value)

    text = generate_latest(reference).decode()
    expected = {key: value for key, value in parsed(text).items() if "_created" not in key[0]}
    assert parsed(registry.render().decode()) == expected


def test_the_process_tells_what_every_program_tells() -> None:
    registry = Registry()
    for family in process_families():
        registry.add(family)
    found = parsed(registry.render().decode())
    assert found["process_resident_memory_bytes", ()] > 1e6
    assert found["process_start_time_seconds", ()] > 1.7e9
    assert found["process_cpu_seconds_total", ()] > 0
