"""The command itself: files and folders, streams joined, what is said where."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.manifests.manifests import (
    checksum,
    configmap,
    deployment,
    env_from,
    objects,
    secret,
    stream,
)
from tests.support.command import reroll

from reroll.cli.errors import Exit

WEB = deployment("web", env_from("ConfigMap", "app"), env_from("Secret", "db"))


def test_a_folder_is_read_in_order_and_becomes_one_stream(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.yaml").write_text(stream(configmap()).rstrip("\n"))
    (tmp_path / "b.txt").write_text("not a manifest: [")
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "pipeline.yaml").write_text("not a manifest: [")
    (tmp_path / "sub" / "c.yml").write_bytes(b"\xef\xbb\xbf" + stream(secret()).encode())
    (tmp_path / "z.json").write_text('{"apiVersion": "v1", "kind": "Service", "metadata": {}}')
    end = reroll("render", tmp_path, "-", input="# web\n---\n" + stream(WEB))
    assert (end.code, end.err) == (Exit.OK, "")
    kinds = [each["kind"] for each in objects(end.out)]
    assert kinds == ["ConfigMap", "Secret", "Service", "Deployment"]
    assert end.out.count("---") == 3
    assert checksum(end.out)


def test_one_stream_stays_as_it_is_to_the_last_byte() -> None:
    web = stream(WEB).encode()
    odd = b"\xef\xbb\xbf# start\r\n--- # one\r\n" + web.replace(b"\n", b"\r\n") + b"...\r\n# end"
    assert reroll("render", input=odd).out.encode() == odd


def test_a_file_with_directives_begins_after_an_end_mark(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(stream(configmap()))
    (tmp_path / "b.yaml").write_text("%YAML 1.1\n---\n" + stream(secret()))
    end = reroll("render", tmp_path)
    assert "...\n%YAML 1.1\n---\n" in end.out
    assert len(objects(end.out)) == 2


def test_the_key_can_be_a_file_or_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = stream(secret(), WEB)
    (tmp_path / "key").write_text("0123456789abcdef\n")
    by_file = reroll("render", "--key-file", tmp_path / "key", input=text)
    monkeypatch.setenv("REROLL_RENDER_KEY", "0123456789abcdef")
    assert reroll("render", input=text).out == by_file.out
    monkeypatch.delenv("REROLL_RENDER_KEY")
    assert reroll("render", input=text).out != by_file.out


def test_the_summary_is_on_standard_error() -> None:
    text = stream(configmap(namespace="shop"), WEB)
    end = reroll("render", "--summary", "-n", "shop", input=text)
    assert end.out == reroll("render", "-n", "shop", input=text).out
    assert end.err == (
        f"Deployment shop/web: checksum.reroll.dev/config {checksum(end.out)}\n"
        "workloads: 1, with a checksum: 1; "
        "sources: 1, with a new name: 0; references that follow: 0\n"
    )
    named = reroll("render", "--summary", "--names", "-n", "shop", input=text)
    assert named.err.startswith("ConfigMap shop/app: now app-")
    assert "sources: 1, with a new name: 1; references that follow: 1" in named.err


def test_a_reader_that_goes_away_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "big.yaml").write_text("---\n".join(stream(WEB) for _ in range(300)))
    command = f"{sys.executable} -m reroll render {tmp_path} | head -1"
    end = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (end.stdout, end.stderr) == ("apiVersion: apps/v1\n", "")


def test_help_has_examples() -> None:
    end = reroll("render", "--help")
    assert "helm template shop ./chart | reroll render | kubectl apply -f -" in end.out
