"""nft, with which kube-proxy writes its rules: this machine's, or out of a Debian package."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from reroll_dev import debian
from reroll_dev.node.sandbox import PROGRAMS
from reroll_dev.progress import Progress

NFT, ROOT = "nft", "nft-root"
NAMES = (NFT, ROOT)
PACKAGE = "nftables"
PLACES = ("/usr/sbin", "/sbin", "/usr/bin")
"""Where it is on machines whose PATH does not say so."""
OTHERWISE = "install nftables by your distribution's means"


def on_path(env: Mapping[str, str]) -> Path | None:
    path = ":".join([env.get("PATH", ""), *PLACES])
    program = shutil.which(NFT, path=path)
    return Path(program) if program else None


def find(env: Mapping[str, str]) -> dict[str, Path] | None:
    """What the sandbox has to have, by name, if it is there; fetches nothing."""
    if program := on_path(env):
        return {NFT: program}
    root = debian.place_of(PACKAGE, env)
    wrapper = _wrapper(root)
    return {NFT: wrapper, ROOT: root} if wrapper.is_file() and root.is_dir() else None


def ensure(*, env: Mapping[str, str], progress: Progress) -> dict[str, Path]:
    """What the sandbox has to have, by name; fetched if it is not there."""
    if there := find(env):
        return there
    root = debian.unpacked(PACKAGE, env=env, progress=progress, otherwise=OTHERWISE)
    libraries = sorted({path.parent for path in root.rglob("lib*.so.*")})
    shown = ":".join(f"{PROGRAMS}/{ROOT}/{path.relative_to(root)}" for path in libraries)
    wrapper = _wrapper(root)
    draft = wrapper.with_suffix(".new")
    draft.write_text(
        f'#!/bin/sh\nLD_LIBRARY_PATH={shown} exec {PROGRAMS}/{ROOT}/usr/sbin/{NFT} "$@"\n'
    )
    draft.chmod(0o755)
    draft.replace(wrapper)
    return {NFT: wrapper, ROOT: root}


def _wrapper(root: Path) -> Path:
    """Shows nft its libraries, where the sandbox has them."""
    return root.with_name(f"{PACKAGE}.sh")
