"""`reroll notice test`: whether a notice gets through, from a shell."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.receiving import Receiving
from tests.support.command import Finished, reroll


@pytest.fixture
def receiving() -> Any:
    one = Receiving()
    yield one
    one.end()


def tried(folder: Path, url: str, *args: str) -> Finished:
    path = folder / "reroll.yaml"
    rows = [{"name": "team", "to": {"webhook": {"url": url}}, "cluster": "prod"}]
    path.write_text(json.dumps({"notices": rows}))
    return reroll("notice", "test", *(args or ("team",)), "--config", str(path))


def test_a_test_goes_the_way_of_all_others_and_says_that_it_is_one(
    tmp_path: Path, receiving: Receiving
) -> None:
    done = tried(tmp_path, f"{receiving.url}/s3cr3t", "team", "-o", "json")

    assert done.json == {"notice": "team", "receiver": "webhook", "sent": True}
    [got] = receiving.got
    assert got.said["state"] == "test"
    assert got.said["title"] == "Test: notice team gets through [prod]"


def test_what_is_in_the_way_is_told_without_the_address(
    tmp_path: Path, receiving: Receiving
) -> None:
    receiving.status = 401
    done = tried(tmp_path, f"{receiving.url}/s3cr3t", "team", "-o", "json")
    assert done.code == 1
    assert "notice team was not sent" in done.err
    assert "status 401" in done.err
    assert done.json["sent"] is False
    assert done.json["problem"].endswith("answered with status 401")
    assert "s3cr3t" not in done.err + done.out


def test_a_notice_that_there_is_not_is_told(tmp_path: Path) -> None:
    done = tried(tmp_path, "https://a/", "teem")
    assert done.code == 2
    assert "no notice 'teem'; there are team" in done.err


def test_a_file_that_cannot_be_used_is_told_and_nothing_is_sent(tmp_path: Path) -> None:
    done = tried(tmp_path, "file:///etc/passwd")
    assert done.code == 2
    assert "notices[0]: to: webhook: url: is not an http:// or https:// URL" in done.err
    assert reroll("notice", "test", "team", "--config", f"{tmp_path}/none.yaml").code == 2
