"""The manifest for krew, judged by krew's own program; left out unless asked for.

It is built from its Go module, which needs Go and a module proxy.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from deploy.release import krew
from tests.release.test_krew import SPOILT, whole
from tests.support.krew import VERSION

pytestmark = [pytest.mark.builder, pytest.mark.timeout(900)]
PROGRAM = "sigs.k8s.io/krew/cmd/validate-krew-manifest"


@pytest.fixture(scope="session")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    go, folder = shutil.which("go"), tmp_path_factory.mktemp("krew")
    if not go:
        pytest.fail("go is not on PATH; install it: apt-get install golang", pytrace=False)
    # In a module of its own: to install it, Go would ask the proxy for more than this version.
    module = f"module check\n\ngo 1.25\n\nrequire sigs.k8s.io/krew {VERSION}\n"
    (folder / "go.mod").write_text(module)
    program = folder / "validate-krew-manifest"
    subprocess.run([go, "build", "-mod=mod", "-o", program, PROGRAM], cwd=folder, check=True)
    return program


def accepted(validator: Path, manifest: dict[str, object], folder: Path) -> bool:
    """Without installing: the archives are not published yet."""
    file = folder / f"{krew.PLUGIN}.yaml"
    file.write_text(yaml.safe_dump(manifest))
    command = [validator, "-manifest", file, "-skip-install"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_krew_accepts_it_and_refuses_what_our_own_rules_refuse(
    validator: Path, tmp_path: Path
) -> None:
    assert accepted(validator, whole(tmp_path), tmp_path)
    for how, (spoil, _) in SPOILT.items():
        manifest = whole(tmp_path)
        spoil(manifest)
        # A field that it does not know is none of its concern, and would be lost.
        assert accepted(validator, manifest, tmp_path) == (how == "typo"), how
