"""The chart as a package, and the plain manifests; both name the image of the release."""

import os
import re
import shutil
import tempfile
from pathlib import Path

from deploy.release import archives
from deploy.release.plan import ROOT, Release, run

CHART = ROOT / "charts" / "reroll"
MANIFESTS = ROOT / "deploy"


def build(release: Release) -> None:
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        copy = work / "reroll"
        shutil.copytree(CHART, copy)
        values = copy / "values.yaml"
        values.write_text(with_image(values.read_text(encoding="utf-8"), release.image))
        run([_helm(), "package", copy, "--destination", work], env=release.environment)
        name = f"reroll-{release.version}.tgz"
        # Helm writes the time of day into it.
        content = archives.of_archive(work / name)
        archives.write(content, release.folder / name, moment=release.moment)


def with_image(values: str, image: str) -> str:
    """The chart's values with this image as the default."""
    registry, repository = _parts(image)
    for key, value in (("registry", f'"{registry}"'), ("repository", repository)):
        values, count = re.subn(rf"(?m)^(  {key}:) .*$", rf"\1 {value}", values, count=1)
        if not count:
            raise SystemExit(f"{CHART}/values.yaml has no image.{key}")
    return values


def _parts(image: str) -> tuple[str, str]:
    """The registry, which has a dot, a port or the name localhost; and the rest."""
    host, slash, rest = image.partition("/")
    if slash and (set(".:") & set(host) or host == "localhost"):
        return host, rest
    return "", image


def manifests(release: Release) -> None:
    own = f'image: "reroll:{release.version}"'
    for path in sorted(MANIFESTS.glob("reroll*.yaml")):
        text = path.read_text(encoding="utf-8")
        if own not in text:
            raise SystemExit(f"{path} does not name {own}; run `make chart`")
        named = text.replace(own, f'image: "{release.image}:{release.version}"')
        (release.folder / path.name).write_text(named, encoding="utf-8")


def _helm() -> Path:
    from reroll_dev import binaries

    program = binaries.find(["helm"], env=os.environ)["helm"]
    if program is None:
        raise SystemExit("helm is neither on PATH nor built; run `reroll dev build helm`")
    return program
