"""`python -m deploy.release FOLDER`: everything that is published of this version."""

import argparse
import os
import shutil
import subprocess
from pathlib import Path

from deploy.release import bill, chart, checksums, distributions, image, krew, notes, ready
from deploy.release.plan import CHANGELOG, ROOT, Release


def main() -> None:
    args = _arguments()
    release = Release(
        folder=args.folder.absolute(),
        image=args.image,
        repository=args.repository.rstrip("/"),
        moment=_moment(),
        base=args.base and args.base.absolute(),
        builder=args.builder,
        installed=args.installed,
    )
    obstacles = ready.obstacles(ROOT, release.version, args.tag)
    if args.tag and obstacles:
        raise SystemExit("\n".join(f"release: {sentence}" for sentence in obstacles))
    missing = build(release)
    for path in sorted(release.folder.iterdir()):
        print(f"{path.stat().st_size:>12,}  {path.name}")  # noqa: T201  it is a command
    for sentence in [*missing, *(f"before a tag: {text}" for text in obstacles)]:
        print(f"release: {sentence}")  # noqa: T201
    print(f"release: {'' if args.tag else 'a dry run; '}nothing was published")  # noqa: T201


def build(release: Release) -> list[str]:
    """Everything, into a new folder. Sentences about what could not be made."""
    shutil.rmtree(release.folder, ignore_errors=True)
    release.folder.mkdir(parents=True)
    distributions.build(release)
    chart.build(release)
    chart.manifests(release)
    krew.build(release)
    bill.build(release)
    missing = image.build(release)
    text = notes.cut(CHANGELOG.read_text(encoding="utf-8"), release.version, release.repository)
    (release.folder / "RELEASE-NOTES.md").write_text(text, encoding="utf-8")
    checksums.write(release.folder)
    return missing


def _moment() -> int:
    """That of the commit, unless SOURCE_DATE_EPOCH says another."""
    if said := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(said)
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    return int(done.stdout or 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m deploy.release", description=__doc__)
    parser.add_argument("folder", type=Path, help="emptied first")
    parser.add_argument("--tag", default="", help="refuse what may not be released under this tag")
    parser.add_argument("--image", default="reroll", help="name of the image, without a tag")
    parser.add_argument(
        "--repository", default="https://example.com/reroll", help="address of the project"
    )
    parser.add_argument("--base", type=Path, help="OCI layout with Python, for all architectures")
    parser.add_argument("--builder", choices=("own", "buildx"), default="own")
    parser.add_argument("--installed", action="store_true", help="fetch nothing; this machine only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
