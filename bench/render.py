"""`python -m bench.render`: `reroll render` against PyYAML's C loader reading the same bytes.

10,000 documents, 20 MB: Deployments that use a ConfigMap and a Secret each, and Services. Every
contender runs in a process of its own, several times in turn; the best run counts. No cluster.
With `--documents 4 --rounds 30`, it is the start of the program that is measured.
"""

import argparse
import base64
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

LOADER = """
import sys, yaml
for document in yaml.load_all(sys.stdin.buffer.read().decode(), yaml.CSafeLoader):
    pass
"""
RENDER = (sys.executable, "-m", "reroll", "render")
KEY = {"REROLL_RENDER_KEY": "a key for the checksums of Secrets"}

CONTENDERS: tuple[tuple[str, tuple[str, ...], dict[str, str]], ...] = (
    ("PyYAML's C loader", (sys.executable, "-c", LOADER), {}),
    ("Python alone", (sys.executable, "-c", "pass"), {}),
    ("checksums, with a key", RENDER, KEY),
    ("content names, with a key", (*RENDER, "--names"), KEY),
    ("checksums, without a key", RENDER, {}),
)

DEPLOYMENT = """\
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{n}
  namespace: team-{team}
  labels:
    app.kubernetes.io/name: web-{n}
    app.kubernetes.io/instance: shop
    helm.sh/chart: web-1.2.3
spec:
  replicas: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: web-{n}
  template:
    metadata:
      annotations:
        prometheus.io/scrape: "true"
      labels:
        app.kubernetes.io/name: web-{n}
        app.kubernetes.io/instance: shop
    spec:
      serviceAccountName: web-{n}
      securityContext:
        runAsNonRoot: true
        seccompProfile:
          type: RuntimeDefault
      containers:
        # the web server
        - name: web
          image: "example.com/shop/web:1.2.{n}"
          ports:
            - name: http
              containerPort: 8080
          livenessProbe:
            httpGet:
              path: /healthz
              port: http
          readinessProbe:
            httpGet:
              path: /readyz
              port: http
          env:
            - name: LOG_LEVEL
              value: "info"
            - name: DB_PASSWORD
              valueFrom:
                secretKeyRef:
                  name: db-{n}
                  key: password
          envFrom:
            - configMapRef:
                name: app-{n}
          resources:
            limits:
              cpu: 500m
              memory: 256Mi
            requests:
              cpu: 100m
              memory: 128Mi
          volumeMounts:
            - name: config
              mountPath: /etc/app
              readOnly: true
      volumes:
        - name: config
          configMap:
            name: app-{n}
"""
CONFIGMAP = """\
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: app-{n}
  namespace: team-{team}
  labels:
    app: shop
data:
  LOG_LEVEL: info
  app.properties: |
{lines}"""
SECRET = """\
---
apiVersion: v1
kind: Secret
metadata:
  name: db-{n}
  namespace: team-{team}
type: Opaque
data:
  password: {password}
  cert: {cert}
"""
SERVICE = """\
---
apiVersion: v1
kind: Service
metadata:
  name: web-{n}
  namespace: team-{team}
  labels:
    app.kubernetes.io/name: web-{n}
spec:
  type: ClusterIP
  ports:
    - port: 80
      targetPort: http
      protocol: TCP
      name: http
  selector:
    app.kubernetes.io/name: web-{n}
"""


class Run(NamedTuple):
    seconds: float
    """Of processor time, both user's and system's."""
    wall: float
    megabytes: float


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.render", description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000, help="(default: 10000)")
    parser.add_argument("--rounds", type=int, default=3, help="(default: 3)")
    args = parser.parse_args()
    best: dict[str, Run] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.yaml"
        path.write_text(stream(args.documents), encoding="utf-8")
        size = path.stat().st_size / 1e6
        for _ in range(args.rounds):
            for name, argv, env in CONTENDERS:
                run = measured(argv, env, path)
                best[name] = min(best.get(name, run), run)
    floor = best[CONTENDERS[0][0]]
    print(f"{args.documents} documents, {size:.1f} MB\n")
    print("| figure | processor time | ratio | wall time | memory |\n|---|---|---|---|---|")
    for name, run in best.items():
        ratio = run.seconds / floor.seconds
        print(
            f"| {name} | {run.seconds:.3f} s | {ratio:.2f} | {run.wall:.2f} s | {run.megabytes:.0f} MB |"
        )
    return 0


def stream(documents: int) -> str:
    """The same text every time: four kinds in turn."""
    chance = random.Random(1)
    parts = []
    for n in range(documents // 4):
        lines = "".join(
            f"    server.option.{k} = {chance.random()}  # a comment\n" for k in range(84)
        )
        values = {
            "n": n,
            "team": n % 50,
            "lines": lines,
            "password": base64.b64encode(chance.randbytes(24)).decode(),
            "cert": base64.b64encode(chance.randbytes(900)).decode(),
        }
        parts += [text.format(**values) for text in (DEPLOYMENT, CONFIGMAP, SECRET, SERVICE)]
    return "".join(parts)


def measured(argv: tuple[str, ...], env: dict[str, str], path: Path) -> Run:
    clean = {name: value for name, value in os.environ.items() if name not in KEY}
    started = os.times().elapsed
    with path.open("rb") as given:
        process = subprocess.Popen(
            argv, stdin=given, stdout=subprocess.DEVNULL, env={**clean, **env}
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(argv[:4])} ended with {process.returncode}")
    wall = os.times().elapsed - started
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1000)


if __name__ == "__main__":
    sys.exit(main())
