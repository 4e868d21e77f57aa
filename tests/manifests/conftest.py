"""No cluster is needed here but where a test says so, and no key comes from outside."""

import pytest


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REROLL_RENDER_KEY", raising=False)
