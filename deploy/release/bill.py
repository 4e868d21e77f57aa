"""The bill of materials: the locked packages, as the image lists them (CycloneDX)."""

import tempfile
from pathlib import Path

from deploy.release.contents import scripts
from deploy.release.plan import Release


def build(release: Release) -> None:
    build = scripts()
    with tempfile.TemporaryDirectory() as place:
        library = Path(place)
        if release.installed:
            build.take_installed(library)
        else:
            build.install(library, build.LOCK)
        target = release.folder / f"reroll-{release.version}.cdx.json"
        build.sbom.write(library, release.version, target)
