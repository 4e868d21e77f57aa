"""Where everything of one cluster lies: one folder, readable by its owner alone.

    <folder>/
      cluster.json     which processes were started (state.py)
      lock             held while it is started or ended
      kubeconfigs/     one file for each identity
      logs/            one file for each process, and audit.jsonl
      pki/             certificate authority, certificates, keys, tokens
      config/          files that the components read
      data/            etcd's
      node/            what a real node keeps: images, volumes, logs of pods

Everything but the logs is removed when the cluster ends.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

STAGES = Path(__file__).parent / "controlplane" / "stages"


def default_folder(name: str, env: Mapping[str, str]) -> Path:
    """Where the cluster called `name` lives by default."""
    state = env.get("XDG_STATE_HOME") or Path(env.get("HOME") or Path.home()) / ".local" / "state"
    return Path(state) / "reroll" / "dev" / name


@dataclass(frozen=True, slots=True)
class Layout:
    folder: Path

    @property
    def state(self) -> Path:
        return self.folder / "cluster.json"

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def audit(self) -> Path:
        return self.logs / "audit.jsonl"

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def ca(self) -> Path:
        return self.pki / "ca.crt"

    @property
    def config(self) -> Path:
        return self.folder / "config"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def node(self) -> Path:
        return self.folder / "node"

    def kubeconfig(self, identity: str) -> Path:
        return self.folder / "kubeconfigs" / f"{identity}.yaml"

    def make(self) -> None:
        """Empty folders, for a cluster that is about to start."""
        self.clear()
        shutil.rmtree(self.logs, ignore_errors=True)
        for folder in (self.pki, self.config, self.data, self.logs, self.folder / "kubeconfigs"):
            folder.mkdir(parents=True, mode=0o700)

    def clear(self) -> None:
        """Remove what is of no use once the processes are gone; logs stay, to be read."""
        self.state.unlink(missing_ok=True)
        for folder in (
            self.pki,
            self.config,
            self.data,
            self.node,
            self.folder / "kubeconfigs",
        ):
            shutil.rmtree(folder, ignore_errors=True)
