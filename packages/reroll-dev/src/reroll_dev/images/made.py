"""The images that are made here, kept in the cache until what they are made of changes.

| name | is |
|---|---|
| `python` | a base with the Python of this machine |
| `web` | the web server of `controlplane/web`, which says what its process sees |
| `pause` | the same program as what holds the namespaces of a pod |
| `reroll` | the product itself on `python`; only in a checkout |
"""

import hashlib
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from reroll_dev import binaries
from reroll_dev.commands import interruptible, run
from reroll_dev.errors import DevClusterError
from reroll_dev.failures import failure
from reroll_dev.images import python
from reroll_dev.images.archive import archive
from reroll_dev.images.image import Config
from reroll_dev.progress import Progress
from reroll_dev.store import Store, cache_folder

ROOT = Path(__file__).parents[5]
"""Of the checkout, where this is one."""

_HERE = Path(__file__).parent
_KEPT = 4
"""Images of one name that stay, however long ago they were used."""
_UNUSED_SECONDS = 24 * 3600
_WEB = Config(entrypoint=("/web",), cmd=("serve",), user="65532:65532", ports=(8080,))
_PAUSE = Config(entrypoint=("/web", "pause"), user="65532:65532")


def made(name: str, *, env: Mapping[str, str], progress: Progress) -> Path:
    """The image as a tar with an OCI layout."""
    return MADE[name](env, progress)


def name_of(name: str) -> str:
    """Under which name it is known unless the user gives it another; no registry has such."""
    return f"localhost/{name}:dev"


def _python(env: Mapping[str, str], progress: Progress) -> Path:
    found = python.this_python()
    plan = python.plan(found)

    def make(work: Path) -> Path:
        python.carry_out(plan, found, work / "root")
        return archive(work / "root", name_of("python"), python.CONFIG, target=work / "python.tar")

    return _cached("python", plan.key(), make, env, progress)


def _web(name: str, config: Config) -> Callable[[Mapping[str, str], Progress], Path]:
    def image(env: Mapping[str, str], progress: Progress) -> Path:
        table = [binaries.WEB]
        program = binaries.ensure(["web"], env=env, progress=progress, binaries=table)["web"]

        def make(work: Path) -> Path:
            (work / "root" / "tmp").mkdir(parents=True)
            (work / "root" / "tmp").chmod(0o1777)
            shutil.copy(program, work / "root" / "web")
            return archive(work / "root", name_of(name), config, target=work / f"{name}.tar")

        return _cached(name, _digest([program]), make, env, progress)

    return image


def _reroll(env: Mapping[str, str], progress: Progress) -> Path:
    script = ROOT / "deploy" / "image" / "build.py"
    if not script.is_file():
        raise DevClusterError(
            "the image of reroll is made of a checkout, and this is an installed package; "
            "work in a checkout, or load an image that you built"
        )
    base = made("python", env=env, progress=progress)
    parts = [ROOT / "LICENSE", *_files(script.parent), *_files(ROOT / "src" / "reroll")]

    def make(work: Path) -> Path:
        layout = work / "oci"
        options = ("--installed", "--oci", layout, "--base", base)
        command: list[str | Path] = [sys.executable, script, work / "image", *options]
        done = run(command, folder=ROOT, env=env)
        if done.code:
            raise failure("building the image of reroll", ROOT, done, otherwise="run `make setup`")
        return archive(layout, name_of("reroll"), target=work / "reroll.tar")

    return _cached("reroll", _digest([base, *parts]), make, env, progress)


MADE: dict[str, Callable[[Mapping[str, str], Progress], Path]] = {
    "python": _python,
    "web": _web("web", _WEB),
    "pause": _web("pause", _PAUSE),
    "reroll": _reroll,
}


def _cached(
    name: str,
    key: str,
    make: Callable[[Path], Path],
    env: Mapping[str, str],
    progress: Progress,
) -> Path:
    # What makes an image is a part of what it is made of. It is in the name too: two checkouts
    # have an image each, instead of making their own again and again.
    recipe = f"{key} {_digest(_files(_HERE))}"
    file = f"{name}-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}.tar"
    store = Store(cache_folder(env) / "images")
    if path := store.lookup(file, recipe):
        return path
    with interruptible(), store.workshop(progress) as work:
        if path := store.lookup(file, recipe):
            return path
        with progress.step(f"making the image {name}"):
            path = store.keep(make(work), file, recipe)
        long_ago = time.time() - _UNUSED_SECONDS
        store.forget(f"{name}-{'[0-9a-f]' * 16}.tar", but=_KEPT, used_before=long_ago, work=work)
        return path


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".pyc"]


def _digest(files: Iterable[Path]) -> str:
    seen = hashlib.sha256()
    for path in files:
        content = path.read_bytes()
        seen.update(f"{path.name}\0{len(content)}\0".encode())
        seen.update(content)
    return seen.hexdigest()
