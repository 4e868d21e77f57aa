"""The programs of a control plane: which there are, where they are, how missing ones are made.

Looked for in this order: the folder in KUBEBUILDER_ASSETS (the user's word, taken as it is, unless
another version was asked for by its name), PATH (if the minor version is ours: a distribution's old
kubectl is not), our cache. What is nowhere is built into the cache, and nothing else is.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, groupby
from pathlib import Path

from reroll_dev import c_libraries, programs
from reroll_dev.build import Builder
from reroll_dev.commands import interruptible
from reroll_dev.errors import DevClusterError
from reroll_dev.gomod import Module
from reroll_dev.kubernetes import Minor
from reroll_dev.neighbours import programs as neighbours
from reroll_dev.programs import BINARIES, CORE, NODE, PROMETHEUS, WEB, Asset, Binary
from reroll_dev.progress import Progress
from reroll_dev.store import Store, cache_folder, store_of
from reroll_dev.toolchain import toolchain

__all__ = [
    "ALL",
    "ASSETS",
    "BINARIES",
    "CORE",
    "NODE",
    "PROMETHEUS",
    "WEB",
    "Asset",
    "Binary",
    "asset",
    "ensure",
    "find",
    "of",
]

ALL = (*programs.ALL, *neighbours.BINARIES)
ASSETS = (*programs.ASSETS, *neighbours.ASSETS)
_PATIENCE_SECONDS = 20


def of(minor: Minor | None) -> tuple[Binary, ...]:
    """Every program, as a cluster of that version has it; without one, as it is here."""
    own = {row.name: row for row in minor.programs} if minor else {}
    return tuple(own.get(row.name, row) for row in ALL)


def find(
    names: Iterable[str], *, env: Mapping[str, str], binaries: Sequence[Binary] = ALL
) -> dict[str, Path | None]:
    """Where each is, or None; makes nothing."""
    return {row.name: _locate(row, env) for row in _rows(names, binaries)}


def ensure(
    names: Iterable[str],
    *,
    env: Mapping[str, str],
    progress: Progress,
    binaries: Sequence[Binary] = ALL,
) -> dict[str, Path]:
    """Where each is; builds those that are nowhere."""
    _check_assets_folder(env)
    rows = _rows(names, binaries)
    found = {row.name: path for row in rows if (path := _locate(row, env))}
    missing = sorted(
        (row for row in rows if row.name not in found), key=lambda row: row.module.name
    )
    number = count(1)
    with interruptible():
        for module, group in groupby(missing, key=lambda row: row.module):
            titles = {row: f"{row.name} ({next(number)} of {len(missing)})" for row in group}
            found |= _make(module, titles, env, progress)
    return {row.name: found[row.name] for row in rows}


def asset(
    name: str, *, env: Mapping[str, str], progress: Progress, assets: Sequence[Asset] = ASSETS
) -> Path:
    """The file with these manifests; made from the module's sources if it is not in the cache."""
    row = next((row for row in assets if row.name == name), None)
    if row is None:
        raise DevClusterError(f"there is no asset {name!r}; there is {_listed(assets)}")
    store = store_of(row.module, env)
    if path := store.lookup(row.name, row.recipe):
        return path
    with interruptible(), store.workshop(progress) as work:
        builder = _builder(row.module, work, env, progress, "try again where it can be fetched")
        return _collect(row, store, builder)


def _rows(names: Iterable[str], binaries: Sequence[Binary]) -> list[Binary]:
    table = {row.name: row for row in binaries}
    wanted = list(dict.fromkeys(names))
    if unknown := [name for name in wanted if name not in table]:
        raise DevClusterError(f"there is no {', '.join(unknown)}; there is {_listed(binaries)}")
    return [table[name] for name in wanted]


def _listed(rows: Sequence[Binary] | Sequence[Asset]) -> str:
    return ", ".join(row.name for row in rows)


def _check_assets_folder(env: Mapping[str, str]) -> None:
    folder = env.get("KUBEBUILDER_ASSETS")
    if folder and not Path(folder).is_dir():
        raise DevClusterError(
            f"KUBEBUILDER_ASSETS is {folder}, which is no folder; "
            "set it to one with the control plane's binaries, or unset it"
        )


def _locate(row: Binary, env: Mapping[str, str]) -> Path | None:
    if row.dependency is None:
        return _cached(row, env)
    if folder := env.get("KUBEBUILDER_ASSETS"):
        theirs = Path(folder) / row.name
        if _is_program(theirs) and (not row.exact or _fits(row, str(theirs), env)):
            return theirs.absolute()
    on_path = shutil.which(row.name, path=env.get("PATH", ""))
    if on_path and _fits(row, on_path, env):
        return Path(on_path).absolute()
    return _cached(row, env)


def _cached(row: Binary, env: Mapping[str, str]) -> Path | None:
    return store_of(row.module, env).lookup(row.name, row.recipe)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _fits(row: Binary, program: str, env: Mapping[str, str]) -> bool:
    """Whether `program` says that it is of the same minor version."""
    command = [program, *row.version_arguments]
    try:
        finished = subprocess.run(
            command, env=env, capture_output=True, check=False, timeout=_PATIENCE_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    said = re.search(r"\bv?(\d+)\.(\d+)", finished.stdout.decode(errors="replace"))
    ours = row.module.version_of(row.dependency or "")
    return said is not None and (int(said[1]), int(said[2])) == (ours.major, ours.minor)


def _make(
    module: Module, titles: Mapping[Binary, str], env: Mapping[str, str], progress: Progress
) -> dict[str, Path]:
    store = store_of(module, env)
    with store.workshop(progress) as work:
        # Another run may have made them while this one waited for the lock.
        made = {row.name: path for row in titles if (path := store.lookup(row.name, row.recipe))}
        rows = [row for row in titles if row.name not in made]
        if not rows:
            return made
        otherwise = f"set KUBEBUILDER_ASSETS to a folder that has {_listed(rows)}"
        builder = _builder(module, work, env, progress, otherwise).trimmed()
        tags = sorted({tag for row in rows for tag in row.tags})
        builder.fetch([row.package for row in rows], tags)
        for row in rows:
            target = work / row.name
            settings = _c_settings(row, env, progress)
            builder.compile(row.package, row.flags, target, titles[row], settings)
            made[row.name] = store.keep(target, row.name, row.recipe)
        for extra in (extra for extra in ASSETS if extra.module == module):
            _collect(extra, store, builder)
        return made


def _c_settings(row: Binary, env: Mapping[str, str], progress: Progress) -> dict[str, str]:
    if not row.c_library:
        return {}
    otherwise = f"put {row.name} {row.version} on PATH"
    return c_libraries.settings(row.c_library, env=env, progress=progress, otherwise=otherwise)


def _builder(
    module: Module, work: Path, env: Mapping[str, str], progress: Progress, otherwise: str
) -> Builder:
    go = toolchain(module.go_version(), cache=cache_folder(env), env=env, progress=progress)
    return Builder(go, module, work, env, progress, otherwise)


def _collect(row: Asset, store: Store, builder: Builder) -> Path:
    if path := store.lookup(row.name, row.recipe):
        return path
    files = sorted(builder.source(row.dependency).glob(row.pattern))
    if not files:
        raise DevClusterError(
            f"{row.dependency} {row.module.version_of(row.dependency)} has no {row.pattern}; "
            "adapt ASSETS to where this release keeps them"
        )
    target = builder.work / row.name
    target.write_bytes(b"\n---\n".join(path.read_bytes() for path in files))
    return store.keep(target, row.name, row.recipe)
