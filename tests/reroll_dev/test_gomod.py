import pytest

from reroll_dev.binaries import ALL
from reroll_dev.errors import DevClusterError
from reroll_dev.gomod import Module, parse_go_version


@pytest.fixture
def module(tmp_path):
    (tmp_path / "cmd").mkdir()
    (tmp_path / "cmd/main.go").write_text("package main")
    (tmp_path / "go.sum").write_text("")
    (tmp_path / "go.mod").write_text(
        "module m\n\ngo 1.26.1\n\nrequire one.example/a v1.2.3\n\n"
        "require (\n\tone.example/b/v3 v3.22.0-rc.1 // indirect\n\tone.example/bb v0.1.0\n)\n\n"
        "replace one.example/r v0.0.0 => one.example/r v0.9.9\n"
    )
    return Module("m", tmp_path)


def test_the_go_line_is_what_a_toolchain_must_reach(module):
    assert module.go_version() == (1, 26, 1)


@pytest.mark.parametrize(
    ("dependency", "version"),
    [
        ("one.example/a", "v1.2.3"),
        ("one.example/b/v3", "v3.22.0-rc.1"),
        ("one.example/bb", "v0.1.0"),
    ],
)
def test_a_version_is_read_from_a_line_alone_or_in_a_block(module, dependency, version):
    assert str(module.version_of(dependency)) == version
    assert module.version_of(dependency).bare == version[1:]


@pytest.mark.parametrize("dependency", ["one.example", "one.example/r", "one.example/b"])
def test_what_is_not_required_has_no_version_and_the_sentence_names_the_file(module, dependency):
    with pytest.raises(DevClusterError, match=f"go.mod does not require {dependency}"):
        module.version_of(dependency)


def test_a_missing_go_mod_is_a_sentence(tmp_path):
    with pytest.raises(DevClusterError, match=r"cannot read .*/go\.mod .*; reinstall reroll-dev"):
        Module("m", tmp_path).go_version()


@pytest.mark.parametrize("changed", ["go.mod", "go.sum", "cmd/main.go", "cmd/new.go"])
def test_another_source_is_another_key(module, changed):
    before = module.key()
    assert module.key() == before
    (module.folder / changed).write_text("// changed")
    assert module.key() != before


@pytest.mark.parametrize("other", ["README.md", "nested/go.mod", "nested/deeper/main.go"])
def test_what_is_not_built_from_does_not_change_the_key(module, other):
    (module.folder / "nested/deeper").mkdir(parents=True)
    (module.folder / "nested/go.mod").write_text("module nested")
    before = module.key()
    (module.folder / other).write_text("changed")
    assert module.key() == before


def test_another_platform_is_another_key(module, monkeypatch):
    before = module.key()
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert module.key() != before


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go1.26.8", (1, 26, 8)),
        ("go1.26", (1, 26, 0)),
        ("go1.27rc1", (1, 27, -1)),
        ("go1.26.8 X:boringcrypto", (1, 26, 8)),
        ("devel go1.28-abcdef", (1, 28, 0)),
        ("no version at all", (0, 0, 0)),
    ],
)
def test_go_versions_compare_as_go_orders_them(text, version):
    assert parse_go_version(text) == version


def test_every_tool_of_the_modules_is_a_binary_and_every_version_is_known():
    packages = {row.package for row in ALL if not row.package.startswith(".")}
    folders = {row.module.folder for row in ALL}
    tools = {
        line.removeprefix("tool").strip()
        for folder in folders
        for line in _tool_lines((folder / "go.mod").read_text())
    }
    assert packages == tools
    assert all(row.version.startswith("v") for row in ALL if row.dependency)


def test_a_node_is_of_the_version_of_its_control_plane():
    versions = {row.version for row in ALL if row.dependency == "k8s.io/kubernetes"}
    assert len(versions) == 1


def _tool_lines(go_mod):
    inside = False
    for line in go_mod.splitlines():
        inside = inside or line == "tool ("
        if line == ")":
            inside = False
        if line != "tool (" and (inside or line.startswith("tool ")):
            yield line
