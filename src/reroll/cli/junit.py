"""A run as JUnit XML: a test case for each workload, for CI systems that show those."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from reroll.cli.errors import CommandError, Exit
from reroll.pipeline.work import Stage, Work

_ELEMENTS = {
    Stage.FAILED: "failure",
    Stage.TIMED_OUT: "failure",
    Stage.UNDONE: "failure",
    Stage.DECLINED: "failure",
    Stage.HELD: "skipped",
    Stage.LEFT: "skipped",
}


def write(path: str, command: str, works: Sequence[Work]) -> None:
    try:
        Path(path).write_bytes(document(command, works))
    except OSError as error:
        raise CommandError(f"--junit {path}: {error.strerror}", Exit.FAILED) from None


def document(command: str, works: Sequence[Work]) -> bytes:
    counts = [_ELEMENTS.get(work.stage, "") for work in works]
    suite = ET.Element(
        "testsuite",
        name=f"reroll {command}",
        tests=str(len(works)),
        failures=str(counts.count("failure")),
        errors="0",
        skipped=str(counts.count("skipped")),
        time=f"{sum(work.seconds for work in works):.3f}",
    )
    for work in works:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=work.key.namespace,
            name=f"{work.key.kind}/{work.key.name}",
            time=f"{work.seconds:.3f}",
        )
        if element := _ELEMENTS.get(work.stage):
            text = _text(work.detail or work.message)
            ET.SubElement(
                case, element, message=f"{work.stage.value}: {text}", type=work.reason.word
            )
        else:
            ET.SubElement(case, "system-out").text = _text(f"{work.stage.value}: {work.message}")
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _text(text: str) -> str:
    """Without what XML cannot carry."""
    return "".join(char for char in text if char.isprintable() or char in "\n\t")
