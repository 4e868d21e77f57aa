"""Make what is missing of a module: fetch its sources and compile them in a workshop.

Everything here runs in the store's workshop, with its lock held. `go list` is asked first for what
has to be compiled: it fetches what is needed and no more, and its count makes the bar of `go build
-v` a real one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reroll_dev.commands import Finished, ignore
from reroll_dev.failures import failure
from reroll_dev.gomod import Module
from reroll_dev.progress import Progress
from reroll_dev.toolchain import Go
from reroll_dev.trim import trimmed

# Go fetches this many modules at once; two cores would mean two.
_DOWNLOADS = "16"
_STALE = "{{if .Stale}}{{.ImportPath}}{{end}}"


@dataclass(frozen=True, slots=True)
class Builder:
    """Go at work on one module; `otherwise` is what a user can do instead when it fails."""

    go: Go
    module: Module
    work: Path
    env: Mapping[str, str]
    progress: Progress
    otherwise: str
    modfile: Path | None = None
    """The go.mod to build with, if it is not the module's own."""

    def trimmed(self) -> "Builder":
        """Itself, or one that builds with what is trimmed of a dependency."""
        if not self.module.trims:
            return self
        source = self.source(self.module.trims)
        return replace(self, modfile=trimmed(self.module, source, self.work))

    def fetch(self, packages: Sequence[str], tags: Sequence[str] = ()) -> None:
        """Have every source that `packages` need on this machine, as built with these tags."""
        title = f"{self.module.name}: fetching Go modules"
        with self.progress.step(title, unit="modules") as step:
            fetched = 0

            def on_line(line: str) -> None:
                nonlocal fetched
                fetched += line.startswith("go: downloading ")
                step.count(fetched)

            told = (f"-tags={','.join(tags)}",) if tags else ()
            listed = self._list([*told, *packages], on_line)
            self._must(f"fetching the sources of {self.module.name}", listed)

    def compile(
        self,
        package: str,
        flags: Sequence[str],
        target: Path,
        title: str,
        settings: Mapping[str, str],
    ) -> None:
        """Build `package` into the file `target`; `settings` are variables of Go's."""
        with self.progress.step(title, unit="packages") as step:
            tags = [flag for flag in flags if flag.startswith("-tags=")]
            total = len(self._list([*tags, package]).output.split())
            done = 0

            def on_line(line: str) -> None:
                nonlocal done
                done += bool(line) and " " not in line
                step.count(min(done, total), total)

            arguments = ("build", "-v", *self._told, *flags, "-o", str(target), package)
            finished = self._go(*arguments, on_line=on_line, **settings)
            self._must(f"building {target.name} (go build {package})", finished)
            step.count(total, total)

    def source(self, dependency: str) -> Path:
        """The folder of a dependency's sources, fetched if needed."""
        with self.progress.step(f"{self.module.name}: fetching {dependency}"):
            finished = self._go("mod", "download", "-json", dependency)
        answer = json.loads(finished.output or "{}")
        if error := answer.get("Error"):
            finished = Finished(finished.code or 1, "", (*finished.complaints, str(error)))
        self._must(f"fetching {dependency}", finished)
        return Path(answer["Dir"])

    @property
    def _told(self) -> tuple[str, ...]:
        return (f"-modfile={self.modfile}",) if self.modfile else ()

    def _list(self, packages: Sequence[str], on_line: Callable[[str], None] = ignore) -> Finished:
        arguments = ("list", *self._told, "-deps", "-f", _STALE, *packages)
        return self._go(*arguments, on_line=on_line, GOMAXPROCS=_DOWNLOADS)

    def _go(
        self, *arguments: str, on_line: Callable[[str], None] = ignore, **settings: str
    ) -> Finished:
        # Go's own temporary files lie in the workshop, and go with it.
        settings["GOTMPDIR"] = str(self.work)
        return self.go.run(
            *arguments,
            folder=self.module.folder,
            env=self.env,
            on_line=on_line,
            settings=settings,
        )

    def _must(self, what: str, finished: Finished) -> None:
        if finished.code != 0:
            raise failure(what, self.module.folder, finished, otherwise=self.otherwise)
