"""A dependency of which some files are ours, where its own bring in what nobody here needs.

Ours lie in the module's folder `instead`, at the paths of those whose place they take. Go lays
nothing over its module cache, so the sources are copied, and a go.mod of the workshop says where.
"""

import shutil
from pathlib import Path

from reroll_dev.gomod import Module

INSTEAD = "instead"


def trimmed(module: Module, source: Path, work: Path) -> Path:
    """Copy `source` into the workshop with our files in it; the go.mod that has it used."""
    copy = work / "trimmed"
    shutil.copytree(source, copy, copy_function=shutil.copyfile)
    for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        folder.chmod(0o755)  # those of the module cache cannot be written
    ours = module.folder / INSTEAD
    for path in sorted(path for path in ours.rglob("*") if path.is_file()):
        shutil.copyfile(path, copy / path.relative_to(ours))
    shutil.copyfile(module.folder / "go.sum", work / "go.sum")
    go_mod = (module.folder / "go.mod").read_text(encoding="utf-8")
    modfile = work / "go.mod"
    modfile.write_text(f"{go_mod}\nreplace {module.trims} => {copy}\n", encoding="utf-8")
    return modfile
