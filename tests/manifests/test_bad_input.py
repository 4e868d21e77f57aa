"""Bad input: a sentence with what, where and what to do, an exit code, and nothing on stdout."""

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from tests.manifests.manifests import configmap, deployment, env_from, secret, stream
from tests.support.command import reroll

from reroll.cli.errors import Exit

WEB = deployment("web", env_from("ConfigMap", "app"))
SECRET_TEXT = "hunter2-very-secret"

BAD = {
    "broken YAML": ("a: b\nc: [d\n", "<stdin>:3:1: broken YAML: "),
    "a tab where spaces belong": ("a:\n\tb: c\n", "<stdin>:2:1: broken YAML: "),
    "a document after a good one": (stream(configmap()) + "---\na: b: c\n", "<stdin>:8:5: broken"),
    "duplicate keys": (
        "kind: ConfigMap\nmetadata:\n  name: a\n  name: b\n",
        "<stdin>:4:3: the key 'name' is there twice; take one away",
    ),
    "duplicate keys in JSON": (
        '{"kind": "ConfigMap",\n "kind": "Secret"}',
        "<stdin>:2:2: the key 'kind' is there twice; take one away",
    ),
    "duplicate keys in a source": (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: MQ==, a: Mg==}\n",
        "<stdin>:4:17: the key 'a' is there twice; take one away",
    ),
    "duplicate keys in a pod template": (
        "apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {a: 1, a: 2}}}\n",
        "<stdin>:3:32: the key 'a' is there twice; take one away",
    ),
    "duplicate keys on the way to a pod template": (
        "apiVersion: apps/v1\nkind: Deployment\nspec: {template: {}}\nspec: {template: {}}\n",
        "<stdin>:4:1: the key 'spec' is there twice; take one away",
    ),
    "one of our annotations twice": (
        "kind: Pod\nmetadata: {annotations: {reroll.dev/hold: a, reroll.dev/hold: b}}\n",
        "<stdin>:2:46: the key 'reroll.dev/hold' is there twice; take one away",
    ),
    "two sources of one name": (
        stream(configmap(), configmap(data={})),
        "<stdin>:8:1: ConfigMap app is there twice, first at <stdin>:1:1; take one away",
    ),
    "a template that does not even parse": (
        "kind: ConfigMap\n{{- if .Values.on }}\ndata: {}\n",
        "a template that was not rendered ({{ … }}); render it first, e.g. with `helm template`",
    ),
    "a template as a value": (
        "kind: ConfigMap\nmetadata:\n  name: {{ .Values.name }}\n",
        "<stdin>:3:9: a template that was not rendered",
    ),
    "a template in quotes": (
        'kind: ConfigMap\nmetadata:\n  name: "{{ .Values.name }}"\n',
        "<stdin>:3:9: a template that was not rendered",
    ),
    "an alias without an anchor": ("a: *b\n", "<stdin>:1:4: alias *b has no anchor &b before it"),
    "a chain of aliases": (
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 1200)),
        "nested more than 200 levels deep; make it flatter",
    ),
    "an alias inside itself": ("a: &b [*b]\n", "<stdin>:1:8: alias *b stands inside what it"),
    "a document that is a list": ("- a\n- b\n", "<stdin>:1:1: this is no Kubernetes object"),
    "a document that is text": ("hello\n", "<stdin>:1:1: this is no Kubernetes object"),
    "a mapping as a key": ("? {a: b}\n: c\n", "<stdin>:1:3: a list or a mapping is used as a key"),
    "deep nesting in YAML": ("[" * 100_000, "nested more than 200 levels deep; make it flatter"),
    "deep nesting in blocks": ("- " * 5_000, "nested more than 200 levels deep; make it flatter"),
    "deep nesting in JSON": ('{"a":' * 100_000, "nested more than 200 levels deep"),
    "a number as a value of a ConfigMap": (
        stream(configmap(data={"port": 8080})),
        "<stdin>:6:9: `data` of a ConfigMap, key 'port': the value is not text; put it in quotes",
    ),
    "two keys that mean the same": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {yes: a, on: b}\n",
        "<stdin>:4:16: `data` has the key 'true' twice, in two forms",
    ),
    "data that is a list": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: [a]\n",
        "<stdin>:4:7: `data` of a ConfigMap has to be a mapping",
    ),
    "a number as a value of a Secret": (
        stream({**secret(), "data": {"p": 1}, "stringData": {"q": SECRET_TEXT}}),
        "<stdin>:6:6: `data` of a Secret, key 'p': the value is not text; put it in quotes",
    ),
    "a boolean as one of our annotations": (
        stream(configmap(annotations={"reroll.dev/names": True})),
        "<stdin>:6:5: reroll.dev/names: the value is not text; put it in quotes",
    ),
    "a source of another namespace that did not agree": (
        stream(
            secret(namespace="b"),
            deployment(namespace="a", annotations={"reroll.dev/sources": "secret/b/db"}),
        ),
        "which does not allow that; annotate it with reroll.dev/allow-from: a",
    ),
    "a pod template that is none": (
        stream(deployment(pod={"containers": "none"})),
        "`spec.template` of Deployment web is not a pod template: Expected `array | null`",
    ),
    "a bad annotation on a workload": (
        stream(deployment(annotations={"reroll.dev/enabled": "maybe"})),
        "annotation reroll.dev/enabled on Deployment",
    ),
    "a bad annotation on a source": (
        stream(configmap(annotations={"reroll.dev/ignore": "maybe"})),
        'annotation reroll.dev/ignore is neither "true" nor "false"',
    ),
    "a control character": ("a: \x07\n", "<stdin>:1:4: broken YAML: control characters"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_manifests_are_refused(name: str) -> None:
    text, sentence = BAD[name]
    end = reroll("render", input=text)
    assert (end.code, end.out) == (Exit.USAGE, "")
    assert sentence in end.err
    assert "Traceback" not in end.err
    assert SECRET_TEXT not in end.err


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_a_billion_laughs_cost_what_their_text_costs() -> None:
    tracemalloc.start()
    end = reroll("render", input=LAUGHS)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (end.code, end.out) == (Exit.USAGE, "")
    assert "its aliases write out to more than 1000000 parts; use fewer" in end.err
    assert peak < 20_000_000


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"\x7fELF\0\xff\xfe", "<stdin> is binary data (byte 6); give it manifests in UTF-8"),
        (b"a: b\0", "<stdin> is binary data; give it manifests in UTF-8"),
        ("a: é".encode("latin-1"), "<stdin> is not UTF-8 (byte 4); give it manifests in UTF-8"),
        ("a: b".encode("utf-16"), "<stdin> is binary data (byte 1)"),
        (os.urandom(4096), "give it manifests in UTF-8"),
    ],
    ids=["a program", "a zero byte", "Latin-1", "UTF-16", "random bytes"],
)
def test_what_is_no_text_is_refused(data: bytes, sentence: str) -> None:
    end = reroll("render", input=data)
    assert (end.code, end.out) == (Exit.USAGE, "")
    assert sentence in end.err


@pytest.mark.parametrize("text", ["", "\n", "---\n", "# nothing\n", "---\n---\n...\n", "\ufeff"])
def test_an_empty_stream_stays_as_it_is(text: str) -> None:
    assert reroll("render", input=text) == (Exit.OK, text, "")


def test_all_problems_are_told_at_once() -> None:
    text = stream(configmap(data={"a": 1}), secret(), {**secret(), "data": {"p": 1}})
    end = reroll("render", input=text)
    assert end.err.count("<stdin>:") == 3  # the second Secret is there twice, which names the first
    assert end.err.startswith("reroll: these manifests cannot be rendered:\n  <stdin>:6:6: ")


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    end = reroll("render", tmp_path / "nope.yaml")
    assert (end.code, end.out) == (Exit.USAGE, "")
    assert (
        end.err == f"reroll: {tmp_path / 'nope.yaml'} cannot be read: No such file or directory\n"
    )


def test_a_folder_without_manifests_is_told(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("hello")
    end = reroll("render", tmp_path)
    assert (end.code, end.out) == (Exit.USAGE, "")
    assert end.err.endswith("has no manifests; they have to end in .yaml, .yml, .json\n")


def test_a_problem_in_the_last_of_many_files_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(stream(configmap(), WEB))
    (tmp_path / "b.yaml").write_text("a: [\n")
    end = reroll("render", tmp_path)
    assert (end.code, end.out) == (Exit.USAGE, "")
    assert f"{tmp_path / 'b.yaml'}:2:1: broken YAML" in end.err


def test_strict_writes_nothing_either() -> None:
    end = reroll("render", "--strict", input=stream(WEB))
    assert (end.code, end.out) == (Exit.USAGE, "")
    assert "refers to ConfigMap app, which nothing here defines" in end.err


@pytest.mark.parametrize("name", ["", "a b", "-a", "x/y/z", "ü", "a" * 64])
def test_a_name_that_no_annotation_can_have_is_refused(name: str) -> None:
    end = reroll("render", f"--annotation={name}", input=stream(WEB))
    assert (end.code, end.out) == (Exit.USAGE, "")
    assert "is not the name of an annotation; write e.g. checksum.reroll.dev/config" in end.err


def test_a_key_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("short\n")
    end = reroll("render", "--key-file", tmp_path / "key", input=stream(WEB))
    assert (end.code, end.out) == (Exit.USAGE, "")
    assert "a key of 5 bytes can be guessed; use at least 16" in end.err
    assert "short" not in end.err


def test_a_size_that_is_none_is_refused() -> None:
    end = reroll("render", "--max-size", "big", input="")
    assert end.code == Exit.USAGE
    assert "'big' is not a size; write e.g. 256Mi" in end.err


def test_an_endless_stream_is_refused_without_being_read_to_its_end() -> None:
    """The writer would never stop, and its pipe breaks when nobody reads on."""
    writer = subprocess.Popen(["yes", "a: b"], stdout=subprocess.PIPE)
    try:
        end = subprocess.run(
            [sys.executable, "-m", "reroll", "render", "--max-size", "1Mi"],
            stdin=writer.stdout,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        assert writer.stdout
        writer.stdout.close()
        writer.wait()
    assert (end.returncode, end.stdout) == (Exit.USAGE, "")
    assert end.stderr == (
        "reroll: standard input: the manifests are larger than 1MiB together; render them in "
        "parts, or raise --max-size\n"
    )
