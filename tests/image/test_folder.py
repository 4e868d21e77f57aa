"""What the image holds: all that it needs, nothing else, and a list of it."""

import hashlib
import json
import re
import subprocess
import sys
import zipfile
from importlib.metadata import distributions
from pathlib import Path
from types import ModuleType

import pytest
from tests.support.fixtures_image import ROOT, Built

PINNED = re.compile(r"(?m)^([A-Za-z0-9._-]+)==(\S+)")


def locked(path: Path) -> dict[str, str]:
    return dict(PINNED.findall(path.read_text(encoding="utf-8")))


def locked_here(path: Path) -> dict[str, str]:
    """Some are for other versions of Python."""
    there = {re.sub(r"[-_.]+", "-", one.name).lower() for one in distributions()}
    return {name: version for name, version in locked(path).items() if name in there}


def test_the_lock_of_the_image_is_a_part_of_the_lock(image_scripts: ModuleType) -> None:
    whole, part = locked(ROOT / "requirements.lock"), locked(image_scripts.LOCK)

    assert part.items() <= whole.items(), "run `make image-lock`"
    assert {"httptools", "msgspec", "cryptography"} <= part.keys()
    assert part.keys().isdisjoint({"pytest", "ruff", "zensical", "uv"})
    hashes = image_scripts.LOCK.read_text(encoding="utf-8").split("==")[1:]
    assert all("--hash=sha256:" in each for each in hashes)


def test_the_lock_of_the_plugin_is_that_of_the_image_without_webhook_and_dashboard(
    image_scripts: ModuleType,
) -> None:
    image, plugin = locked(image_scripts.LOCK), locked(ROOT / "deploy/release/requirements.lock")

    assert plugin.items() <= image.items(), "run `make image-lock`"
    webhook = {"cryptography", "cffi", "pycparser"}
    dashboard = {"starlette", "uvicorn", "anyio", "click", "h11", "idna", "typing-extensions"}
    assert image.keys() - plugin.keys() == webhook | dashboard


def test_it_holds_the_locked_packages_the_program_and_no_tools(
    built: Built, image_scripts: ModuleType
) -> None:
    there = {path.name.split("-")[0].lower() for path in built.library.glob("*.dist-info")}

    names = {name.replace("-", "_").lower() for name in locked_here(image_scripts.LOCK)}
    assert there == names
    for tool in ("pip", "setuptools", "pytest", "bin", "reroll_dev"):
        assert not (built.library / tool).exists()
    assert (built.library / "reroll" / "py.typed").exists()
    assert [*built.library.rglob("controlplane"), *built.library.rglob("go.mod")] == []
    assert list(built.library.glob("*.egg-link")) == []


def test_every_module_is_compiled_for_where_it_will_be(built: Built) -> None:
    tag = f"cpython-{sys.version_info.major}{sys.version_info.minor}"
    missing = [
        path
        for path in built.library.rglob("*.py")
        if not (path.parent / "__pycache__" / f"{path.stem}.{tag}.pyc").exists()
    ]
    assert missing == []
    one = built.library / "reroll" / "__pycache__" / f"clock.{tag}.pyc"
    assert b"/opt/reroll/lib/reroll/clock.py" in one.read_bytes()
    assert str(built.library).encode() not in one.read_bytes()


def test_the_list_of_parts_has_each_package_with_its_licence(
    built: Built, image_scripts: ModuleType
) -> None:
    document = json.loads((built.folder / "sbom.cdx.json").read_text(encoding="utf-8"))

    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    parts = {each["name"].lower().replace("_", "-"): each for each in document["components"]}
    assert {name: each["version"] for name, each in parts.items()} == locked_here(
        image_scripts.LOCK
    )
    assert [name for name, each in parts.items() if not each.get("licenses")] == []
    known = {each["ref"] for each in document["dependencies"]}
    assert {each["purl"] for each in parts.values()} < known
    assert document["metadata"]["component"]["version"] == image_scripts.version()
    needs = {each["ref"]: each["dependsOn"] for each in document["dependencies"]}
    assert parts["markupsafe"]["purl"] in needs[parts["jinja2"]["purl"]]


def test_a_folder_that_is_in_use_is_left_alone(image_scripts: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "something").touch()

    with pytest.raises(SystemExit, match="is not empty"):
        image_scripts.build(tmp_path)


def wheel(folder: Path) -> Path:
    """A package that says nothing, as small as one can be."""
    path = folder / "tiny-1.0-py3-none-any.whl"
    about = {
        "tiny.py": "",
        "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n",
        "tiny-1.0.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in about.items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize("tool", ["uv", "pip"])
def test_a_package_is_taken_only_with_the_hash_that_the_lock_has(
    image_scripts: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    right = hashlib.sha256(wheel(tmp_path).read_bytes()).hexdigest()
    lock = tmp_path / "requirements.lock"
    where = f"{Path(sys.executable).parent}:/usr/bin:/bin" if tool == "uv" else "/usr/bin:/bin"
    monkeypatch.setenv("PATH", where)
    for prefix in ("UV", "PIP"):
        monkeypatch.setenv(f"{prefix}_FIND_LINKS", str(tmp_path))
        monkeypatch.setenv(f"{prefix}_NO_INDEX", "1")

    lock.write_text(f"tiny==1.0 --hash=sha256:{right}\n")
    image_scripts.install(tmp_path / "good", lock)
    assert (tmp_path / "good" / "tiny.py").exists()

    lock.write_text(f"tiny==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(subprocess.CalledProcessError):
        image_scripts.install(tmp_path / "bad", lock)
