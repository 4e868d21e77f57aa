"""The project's promises about itself: contracts hold, docs are whole, the lock names no place.

Needs no control plane and no network. What a checker promises is shown by breaking it in a copy.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import command_reference

import reroll
from reroll.cli.app import COMMANDS
from reroll.cli.errors import Exit

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = {c["id"]: c for c in PYPROJECT["tool"]["importlinter"]["contracts"]}

# Contract id -> modules that break it, as path below src/reroll and one line of code.
VIOLATIONS = {
    "layers": ("kube/planted.py", "import reroll.controller"),
    "rooms": ("core/policy/planted.py", "import reroll.core.decide"),
    "features": ("features/checkup/planted.py", "import reroll.features.injection"),
    "answers": ("answers/audit/planted.py", "import reroll.answers.doctor"),
    "look-only": ("answers/audit/planted.py", "import reroll.engine.executor"),
    "offline": ("manifests/planted.py", "import reroll.kube"),
    "pure": ("core/planted.py", "import os"),
    "lean": ("controller/planted.py", "import rich"),
    "apart": ("cli/commands/planted.py", "import reroll.dashboard.app"),
}


def tool(*argv: str | Path, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the virtual environment; output and errors come together."""
    path = f"{BIN}:{os.environ['PATH']}"
    program = shutil.which(argv[0], path=path)
    assert program, f"{argv[0]} is not installed; run `make setup`"
    return subprocess.run(
        [program, *argv[1:]],
        cwd=cwd,
        env={**os.environ, "PATH": path, **env},
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.fixture
def package_copy(tmp_path: Path) -> Path:
    """A copy of the package, its rules and nothing else, to break."""
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "reroll", tmp_path / "src" / "reroll", ignore=skip)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(copy: Path) -> str:
    """What import-linter says of the copy, which comes before the installed package."""
    argv = ("lint-imports", "--no-cache", "--no-logo")
    return tool(*argv, cwd=copy, PYTHONPATH=str(copy / "src"), NO_COLOR="1").stdout


def test_an_unbroken_copy_keeps_every_contract(package_copy: Path) -> None:
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken" in lint_imports(package_copy)


def test_every_contract_has_a_planted_violation() -> None:
    assert set(VIOLATIONS) == set(CONTRACTS), "add a row to VIOLATIONS for each import contract"


@pytest.mark.parametrize("contract", VIOLATIONS)
def test_a_planted_violation_breaks_its_contract(package_copy: Path, contract: str) -> None:
    path, code = VIOLATIONS[contract]
    (package_copy / "src" / "reroll" / path).write_text(f"{code}\n", encoding="utf-8")
    assert f"{CONTRACTS[contract]['name']} BROKEN" in lint_imports(package_copy)


def test_every_module_that_core_may_not_use_is_noticed_also_of_the_standard_library(
    package_copy: Path,
) -> None:
    forbidden = CONTRACTS["pure"]["forbidden_modules"]
    planted = package_copy / "src" / "reroll" / "core" / "planted.py"
    planted.write_text("".join(f"import {name}\n" for name in forbidden), encoding="utf-8")
    said = lint_imports(package_copy)
    assert [name for name in forbidden if f"reroll.core.planted -> {name} " not in said] == []


# What computes and does nothing else. A list of what is forbidden never has everything.
CORE_MAY_IMPORT = {
    *("base64", "bisect", "collections", "contextlib", "dataclasses", "datetime", "enum"),
    *(
        "difflib",
        "fnmatch",
        "functools",
        "hashlib",
        "hmac",
        "itertools",
        "json",
        "math",
        "msgspec",
        "re",
    ),
    *("re2", "reroll", "typing", "zoneinfo"),
}


def test_core_imports_only_what_computes() -> None:
    imported = set()
    for path in (ROOT / "src" / "reroll" / "core").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add((node.module or "").split(".")[0])
    assert imported - CORE_MAY_IMPORT == set(), "core is pure; see CORE_MAY_IMPORT"


def test_only_the_clock_reads_the_time(package_copy: Path) -> None:
    planted = package_copy / "src" / "reroll" / "core" / "planted.py"
    planted.write_text('"""Planted."""\n\nimport time\n\nNOW = time.time()\n', encoding="utf-8")
    said = tool("ruff", "check", "--no-cache", planted, cwd=package_copy).stdout
    assert "only reroll.clock reads it" in said


def makefile_targets() -> Iterator[tuple[str, str]]:
    """Every phony target of the Makefile and the line that defines it."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in re.findall(r"^\.PHONY: (\S+)$", text, flags=re.MULTILINE):
        line = re.search(rf"^{re.escape(name)}:.*$", text, flags=re.MULTILINE)
        assert line, f"the Makefile declares {name} phony and does not define it"
        yield name, line[0]


# What the other targets do first; nobody needs to ask for it.
UNLISTED = {"setup"}


def test_every_target_of_the_makefile_says_what_it_does_and_make_lists_it() -> None:
    listed = re.sub(r"\x1b\[\d*m", "", tool("make", "help").stdout)
    for name, line in makefile_targets():
        if name in UNLISTED:
            continue
        assert re.search(r"## \S", line), f"Makefile: the target {name} needs a ## comment"
        assert re.search(rf"^\s+{name}\s+\S", listed, flags=re.MULTILINE), (
            f"`make help` does not list {name}"
        )


def test_every_target_of_the_makefile_is_declared_phony_or_a_file() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    defined = set(re.findall(r"^([a-z][a-z-]*):(?!=)", text, flags=re.MULTILINE))
    assert defined == {name for name, _ in makefile_targets()}


def test_ci_runs_the_test_command_of_the_readme() -> None:
    script = ROOT / ".ci" / "run"
    assert "\nmake test\n" in script.read_text(encoding="utf-8")
    assert script.stat().st_mode & 0o111, ".ci/run is not executable; chmod +x it"
    assert "make test" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere() -> None:
    assert PYPROJECT["project"]["version"] == reroll.__version__


def test_the_lock_file_names_no_place_and_has_hashes_for_each_requirement() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert "index-url" not in lock
    requirements = re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)[1:]
    assert len(requirements) > 30
    pinned = re.compile(r"[A-Za-z0-9._-]+(\[[\w,-]+\])?==\S+")
    assert [r.splitlines()[0] for r in requirements if not pinned.match(r)] == []
    assert [r.splitlines()[0] for r in requirements if "--hash=sha256:" not in r] == []


def test_every_dependency_is_locked() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    groups = PYPROJECT["dependency-groups"].values()
    dev = tomllib.loads((ROOT / "packages/reroll-dev/pyproject.toml").read_text(encoding="utf-8"))
    own = [*PYPROJECT["project"]["dependencies"], *dev["project"]["dependencies"]]
    wanted = [*own, *(d for group in groups for d in group)]
    names = {re.split(r"[^A-Za-z0-9_.-]", d)[0].lower() for d in wanted if isinstance(d, str)}
    names.remove("reroll")
    assert [name for name in names if not re.search(rf"^{name}==", lock, flags=re.MULTILINE)] == []


def test_the_reference_of_commands_is_what_the_parsers_say() -> None:
    written = command_reference.PAGE.read_text(encoding="utf-8")
    assert written == command_reference.reference(), f"run `{command_reference.UPDATE}`"


@pytest.mark.parametrize("name", [*COMMANDS])
def test_every_command_has_a_line_in_the_reference(name: str) -> None:
    assert f"| [`reroll {name}`]" in command_reference.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("code", Exit)
def test_every_exit_code_is_documented(code: Exit) -> None:
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    assert f"| {code.value} | `{code.name}` |" in page


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "index.md").read_text(encoding="utf-8")
    missing = [p.name for p in folder.glob("20*.md") if f"]({p.name})" not in index]
    assert missing == [], "add a line to docs/decisions/index.md"


# Put together from parts, so that this file does not name them itself.
MACHINES = r"home/(?!me\b)|root/|work/|tmp/cp"
REGISTRIES = "|".join(
    rf"{name}\.{domain}"
    for name, domain in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("(?:proxy|sum)", "golang.org"),
        ("npmjs", "(?:org|com)"),
        ("crates", "io"),
    )
)
# What other programs say, word for word.
QUOTES = {"tests/reroll_dev/test_failures.py"}
PLACES = re.compile(rf"(?<![\w.])/(?:{MACHINES})|{REGISTRIES}")


def test_no_file_names_a_package_registry_or_a_path_of_a_build_machine() -> None:
    found = []
    for name in tool("git", "ls-files").stdout.splitlines():
        path = ROOT / name
        if path.is_file() and name not in QUOTES:
            for number, line in enumerate(
                path.read_text(encoding="utf-8", errors="replace").splitlines(), 1
            ):
                found += [f"{name}:{number}: {hit[0]}" for hit in PLACES.finditer(line)]
    assert found == []
