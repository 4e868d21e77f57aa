"""Small real Go modules, a module proxy made of files, and Gos that only pretend."""

import base64
import functools
import hashlib
import io
import os
import subprocess
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from reroll_dev.binaries import Asset, Binary
from reroll_dev.gomod import Module
from reroll_dev.progress import PlainProgress
from reroll_dev.store import cache_folder, store_of
from reroll_dev.toolchain import toolchain

LIB = "toy.example/lib"
LIB_VERSION = "v1.2.3"
LIB_FILES = {
    "go.mod": f"module {LIB}\n\ngo 1.26.0\n",
    "lib.go": 'package lib\n\nvar Version = "unset"\n',
    "manifests/b-crd.yaml": "kind: B\n",
    "manifests/a-crd.yaml": "kind: A\n",
    "manifests/kustomization.yaml": "resources: []\n",
}
MAIN = f'package main\n\nimport "{LIB}"\n\nfunc main() {{ print(lib.Version) }}\n'


@functools.cache
def real_go() -> Path:
    env = dict(os.environ)
    progress = PlainProgress(io.StringIO())
    return toolchain((1, 26, 1), cache=cache_folder(env), env=env, progress=progress).program


@functools.cache
def _shared_build_cache() -> str:
    command = [real_go(), "env", "GOCACHE"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@dataclass(frozen=True)
class Toy:
    """A module with programs of our making, and the environment in which it is built."""

    folder: Path
    env: dict[str, str]
    module: Module = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "module", Module("toy", self.folder / "module"))

    @property
    def store(self) -> Path:
        return store_of(self.module, self.env).folder

    def binary(self, name="hello", *, stamp=(f"{LIB}.Version={{own}}",)) -> Binary:
        return Binary(name, self.module, f"./{name}", LIB, stamp)

    def asset(self, pattern="manifests/*-crd.yaml") -> Asset:
        return Asset("crds.yaml", self.module, LIB, pattern)


def toy(folder: Path, *names: str, main: str = MAIN, go: Path | None = None) -> Toy:
    names = names or ("hello",)
    module = folder / "module"
    for name in names:
        (module / name).mkdir(parents=True)
        (module / name / "main.go").write_text(main)
    (module / "go.mod").write_text(
        f"module toy.example/module\n\ngo 1.26.0\n\nrequire {LIB} {LIB_VERSION}\n"
    )
    (module / "go.sum").write_text(serve(folder / "proxy"))
    go = go or real_go()
    env = {
        "HOME": str(folder / "home"),
        "PATH": f"{go.parent}:/usr/bin:/bin",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "GOCACHE": _shared_build_cache() if go == real_go() else "/nowhere",
        "GOMODCACHE": str(folder / "modules"),
        "GOPROXY": f"file://{folder}/proxy",
    }
    return Toy(folder, env)


def serve(proxy: Path) -> str:
    """Put the library into a proxy of files; the answer is what go.sum must say of it."""
    versions = proxy / LIB / "@v"
    versions.mkdir(parents=True)
    prefix = f"{LIB}@{LIB_VERSION}"
    with zipfile.ZipFile(versions / f"{LIB_VERSION}.zip", "w") as archive:
        for name, text in LIB_FILES.items():
            archive.writestr(f"{prefix}/{name}", text)
    (versions / f"{LIB_VERSION}.mod").write_text(LIB_FILES["go.mod"])
    (versions / f"{LIB_VERSION}.info").write_text(f'{{"Version": "{LIB_VERSION}"}}')
    whole = _h1({f"{prefix}/{name}": text for name, text in LIB_FILES.items()})
    go_mod = _h1({"go.mod": LIB_FILES["go.mod"]})
    return f"{LIB} {LIB_VERSION} {whole}\n{LIB} {LIB_VERSION}/go.mod {go_mod}\n"


def _h1(files: dict[str, str]) -> str:
    lines = (
        f"{hashlib.sha256(files[name].encode()).hexdigest()}  {name}\n" for name in sorted(files)
    )
    return "h1:" + base64.b64encode(hashlib.sha256("".join(lines).encode()).digest()).decode()


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def pretended_go(folder: Path, *, version="go1.26.9", packages="hello", build="exit 0") -> Path:
    """A `go` that knows its version and its packages, and builds as told; `$target` is -o's."""
    return script(
        folder / "go",
        f'case "$1" in\n'
        f"env) echo {version} ;;\n"
        f"list) echo {packages} ;;\n"
        f'build) target="$6"; echo "$target" >> {folder}/builds; {build} ;;\n'
        f"esac",
    )


@dataclass
class Told:
    """A progress that remembers what it was told."""

    said: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    counts: dict[str, list[tuple[int, int | None]]] = field(default_factory=dict)

    def say(self, text):
        self.said.append(text)

    @contextmanager
    def step(self, title, *, unit=""):
        self.steps.append(title)
        yield _Counts(self.counts.setdefault(title, []))


@dataclass
class _Counts:
    seen: list[tuple[int, int | None]]

    def count(self, done, total=None):
        self.seen.append((done, total))
