"""Which namespaces count."""

from datetime import UTC, datetime

from reroll.core.model.metadata import Metadata
from reroll.engine.scope import Namespaces, scope
from reroll.settings.table import Settings


def test_a_namespace_that_is_being_deleted_counts_no_more() -> None:
    """Nothing can be made in it, and what its workloads lack now is nobody's concern."""
    changed: list[str] = []
    known = Namespaces(scope(Settings()), changed.append)
    known.observe(Metadata(name="preview"))
    assert known.that_counts("preview")

    known.observe(Metadata(name="preview", deletion_timestamp=datetime(2026, 5, 1, tzinfo=UTC)))

    assert known.that_counts("preview") is None
    assert changed == ["preview"]
