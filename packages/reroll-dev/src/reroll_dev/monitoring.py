"""A Prometheus and an Alertmanager beside a cluster: their command lines and their files.

Pure but for `write_configs`. Both listen on 127.0.0.1 alone. Prometheus asks a controller that runs
on this machine with its usual `--listen`, and what files in `scrapes/` say; rules are those in
`rules/`. Both are read again by `POST /-/reload`.
"""

import json
from pathlib import Path
from typing import Any

from reroll_dev.layout import Layout

PROMETHEUS, ALERTMANAGER = "prometheus", "alertmanager"
READY = "/-/ready"
OFTEN = "1s"
"""How often targets are asked and rules evaluated."""


def folder(layout: Layout) -> Path:
    return layout.config / "prometheus"


def write_configs(layout: Layout, alertmanager_port: int) -> None:
    """JSON is YAML."""
    home = folder(layout)
    for name in ("rules", "scrapes"):
        (home / name).mkdir(parents=True, exist_ok=True)
    (home / "prometheus.yaml").write_text(json.dumps(_config(home, alertmanager_port), indent=2))
    (home / "alertmanager.yaml").write_text(json.dumps(_ALERTMANAGER, indent=2))


def _config(home: Path, alertmanager_port: int) -> dict[str, Any]:
    target = {"targets": [f"127.0.0.1:{alertmanager_port}"]}
    return {
        "global": {"scrape_interval": OFTEN, "evaluation_interval": OFTEN, "scrape_timeout": OFTEN},
        "alerting": {"alertmanagers": [{"static_configs": [target]}]},
        "rule_files": [f"{home}/rules/*.yaml"],
        "scrape_configs": [
            {"job_name": "reroll", "static_configs": [{"targets": ["127.0.0.1:8080"]}]},
            {"job_name": "files", "file_sd_configs": [{"files": [f"{home}/scrapes/*.json"]}]},
        ],
    }


_ALERTMANAGER = {
    "route": {"receiver": "nobody", "group_wait": OFTEN, "group_interval": OFTEN},
    "receivers": [{"name": "nobody"}],
}


def alertmanager(binary: Path, layout: Layout, port: int) -> list[str]:
    home = folder(layout)
    return [
        str(binary),
        f"--config.file={home / 'alertmanager.yaml'}",
        f"--storage.path={home / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",  # it is alone
        "--log.level=warn",
    ]


def prometheus(binary: Path, layout: Layout, port: int) -> list[str]:
    home = folder(layout)
    return [
        str(binary),
        f"--config.file={home / 'prometheus.yaml'}",
        f"--storage.tsdb.path={home / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--web.enable-lifecycle",
        f"--rules.alert.resend-delay={OFTEN}",
        "--log.level=warn",
    ]
