"""The two distributions: what each carries, and the product where the other is not installed.

The wheels are built here without a network. The product runs from its own wheel, in a Python that
does not know this checkout: `-S` leaves out the links of editable installs.
"""

import ast
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import reroll

ROOT = Path(__file__).parents[1]
DEV = ROOT / "packages" / "reroll-dev"
PRODUCT, DEVELOPMENT = (
    tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for folder in (ROOT, DEV)
)
SENTENCE = (
    "comes with the package reroll-dev, which is not installed; run: pip install 'reroll[dev]'"
)

Run = Callable[..., subprocess.CompletedProcess[str]]


def build(source: Path, folder: Path, kind: str) -> Path:
    """`kind` is `wheel` or `sdist`; the file that was built."""
    uv = Path(sys.executable).with_name("uv")
    options = ("--no-build-isolation", "--offline", "--python", sys.executable, "-o", folder)
    command = [uv, "build", f"--{kind}", *options, source]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = [path for path in folder.iterdir() if path.suffix in {".whl", ".gz"}]
    return built


@pytest.fixture(scope="module")
def product_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("product"), "wheel")


@pytest.fixture(scope="module")
def run_product(product_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`reroll ARGS`, where the product's wheel and its dependencies are all there is."""
    installed = tmp_path_factory.mktemp("installed")
    zipfile.ZipFile(product_wheel).extractall(installed)
    path = f"{installed}:{sysconfig.get_path('purelib')}"
    # If it finds the development cluster after all, it must not start one.
    closed = {"PYTHONPATH": path, "KUBEBUILDER_ASSETS": str(installed / "nowhere")}

    def run(*args: str, code: str = "") -> subprocess.CompletedProcess[str]:
        start = ("-c", code) if code else ("-m", "reroll")
        return subprocess.run(
            [sys.executable, "-S", "-P", *start, *args],
            env={**os.environ, **closed},
            cwd=installed,
            text=True,
            capture_output=True,
            check=False,
        )

    return run


def test_the_product_wheel_carries_the_product_alone(product_wheel: Path) -> None:
    names = zipfile.ZipFile(product_wheel).namelist()
    packages = {name.split("/")[0] for name in names}
    assert packages == {"reroll", f"reroll-{reroll.__version__}.dist-info"}
    assert "reroll/py.typed" in names
    dashboard = (ROOT / "src" / "reroll" / "dashboard").rglob("*.*")
    parts = {
        path.relative_to(ROOT / "src").as_posix()
        for path in dashboard
        if "__pycache__" not in str(path)
    }
    assert parts <= set(names), "templates, style and script are in it"
    unwanted = ("devcluster", "reroll_dev", "controlplane", "go.mod", "__pycache__")
    assert [name for name in names if any(word in name for word in unwanted)] == []


def test_the_wheel_of_the_development_cluster_carries_the_go_modules(tmp_path: Path) -> None:
    names = set(zipfile.ZipFile(build(DEV, tmp_path, "wheel")).namelist())
    sources = (DEV / "src" / "reroll_dev").rglob("*")
    there = {path.relative_to(DEV / "src").as_posix() for path in sources if path.is_file()}
    assert {name for name in there if "__pycache__" not in name} <= names
    modules = ("", "helm4/", "rollouts/")
    assert {f"reroll_dev/controlplane/{module}go.mod" for module in modules} <= names
    assert "reroll_dev/controlplane/stages/pods.yaml" in names
    assert [name for name in names if "__pycache__" in name] == []


def test_the_source_distribution_has_what_tests_and_makefile_need(tmp_path: Path) -> None:
    with tarfile.open(build(ROOT, tmp_path, "sdist")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = (
        "packages/reroll-dev/pyproject.toml",
        "packages/reroll-dev/src/reroll_dev/controlplane/go.mod",
        "tests/reroll_dev/test_cluster.py",
        "src/reroll/py.typed",
        "requirements.lock",
        "Makefile",
    )
    assert [name for name in needed if name not in names] == []


def test_both_have_one_version_and_need_each_other_in_it() -> None:
    version = reroll.__version__
    assert PRODUCT["version"] == DEVELOPMENT["version"] == version
    assert PRODUCT["optional-dependencies"]["dev"] == [f"reroll-dev=={version}"]
    assert f"reroll=={version}" in DEVELOPMENT["dependencies"]
    assert PRODUCT["requires-python"] == DEVELOPMENT["requires-python"]
    assert (DEV / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_product_imports_nothing_of_the_development_cluster() -> None:
    modules = list((ROOT / "src" / "reroll").rglob("*.py"))
    assert len(modules) > 100
    assert [path.name for path in modules if "reroll_dev" in imported(path.read_text())] == []


def imported(code: str) -> set[str]:
    """The packages that its import statements name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").split(".")[0])
    return names


def test_every_form_of_an_import_is_noticed() -> None:
    code = "import a.b, c as d\ndef f():\n    from e.f import g\nfrom . import h"
    assert imported(code) == {"a", "c", "e"}


@pytest.mark.parametrize(
    "args", ["dev", "dev up", "dev --help", "dev up --help", "demo", "demo --keep"]
)
def test_without_it_its_commands_say_what_to_install(run_product: Run, args: str) -> None:
    done = run_product(*args.split())
    command = args.split(maxsplit=1)[0]
    assert (done.returncode, done.stdout) == (1, "")
    assert " ".join(done.stderr.split()) == f"reroll: `reroll {command}` {SENTENCE}"


@pytest.mark.parametrize("args", ["", "--help", "run --help", "explain --help", "completion bash"])
def test_without_it_everything_else_works(run_product: Run, args: str) -> None:
    done = run_product(*args.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_without_it_help_lists_its_commands_nevertheless(run_product: Run) -> None:
    listed = [line.split()[0] for line in run_product("--help").stdout.splitlines() if line]
    assert {"run", "demo", "dev"} <= set(listed)


KUBECTL = "import reroll.__main__ as m; m.complete_for_kubectl()"


@pytest.mark.parametrize(("word", "completions"), [("de", ["demo", "dev"]), ("dev", ["dev"])])
def test_without_it_the_names_of_its_commands_complete(
    run_product: Run, word: str, completions: list[str]
) -> None:
    done = run_product(word, code=KUBECTL)
    *names, directive = done.stdout.split()
    assert (sorted(names), directive, done.stderr) == (completions, ":6", "")


def test_without_it_its_arguments_complete_to_nothing(run_product: Run) -> None:
    done = run_product("dev", "", code=KUBECTL)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) <= {"-h", "--help", ":6"}


def test_a_fault_in_the_package_itself_is_not_taken_for_its_absence(
    run_product: Run, tmp_path: Path
) -> None:
    broken = tmp_path / "reroll_dev" / "cli"
    broken.mkdir(parents=True)
    for folder in (broken.parent, broken):
        (folder / "__init__.py").touch()
    (broken / "dev.py").write_text("import nowhere\n")
    code = f"import sys; sys.path.append({str(tmp_path)!r}); import reroll.__main__ as m; m.main()"
    done = run_product("dev", code=code)
    assert "No module named 'nowhere'" in done.stderr
