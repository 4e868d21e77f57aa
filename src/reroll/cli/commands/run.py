"""`reroll run`: the controller."""

import argparse
import asyncio
import os
import secrets
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from reroll import __version__
from reroll.cli.errors import CommandError, Exit
from reroll.cli.files import read_yaml
from reroll.clock import SystemClock
from reroll.controller import logs
from reroll.controller.bus import Bus
from reroll.controller.events import Recorder
from reroll.controller.log_lines import LogLines
from reroll.controller.metrics import Metrics
from reroll.controller.supervisor import Feature, Supervisor
from reroll.engine.engine import Rollouts
from reroll.features.checkup.feature import Checkup
from reroll.kube.auth import load
from reroll.kube.client import Client
from reroll.kube.errors import ConfigError
from reroll.settings.table import GROUPS, SETTINGS, Settings, SettingsError, resolve


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Watch the cluster and roll opted-in workloads when their ConfigMaps or Secrets change.\n\n"
        "Every setting is a flag, an environment variable (REROLL_ and the flag's name, e.g.\n"
        "REROLL_LOG_LEVEL) and a key of the config file; in that order the first one counts."
    )
    parser.add_argument(
        "--config", metavar="FILE", help="YAML file with settings (also $REROLL_CONFIG)"
    )
    groups = {title: parser.add_argument_group(title) for title in GROUPS}
    for row in SETTINGS:
        default = f" (default: {row.shown_default})" if row.shown_default else ""
        if row.type is bool:
            more: dict[str, Any] = {"nargs": "?", "const": "true", "metavar": "true|false"}
        else:
            more = {"metavar": "|".join(c for c in row.choices if c) or row.about.example}
        groups[row.about.group].add_argument(
            row.flag, dest=row.name, help=row.about.help + default, **more
        )


def run(args: argparse.Namespace) -> int:
    settings = _settings(args, os.environ)
    logs.configure(settings.log_format, settings.log_level)
    try:
        asyncio.run(_main(settings, os.environ))
    except* ConfigError as group:
        raise CommandError(str(group.exceptions[0]), Exit.USAGE) from None
    except* OSError as group:
        raise CommandError(f"{group.exceptions[0]}; choose another with --listen") from None
    return Exit.OK


def _settings(args: argparse.Namespace, environment: Mapping[str, str]) -> Settings:
    path = args.config or environment.get("REROLL_CONFIG") or ""
    flags = {row.name: v for row in SETTINGS if (v := getattr(args, row.name)) is not None}
    try:
        return resolve(flags, environment, _file(path), path)
    except SettingsError as error:
        lines = "\n".join(f"  {problem}" for problem in error.problems)
        raise CommandError(f"these settings cannot be used:\n{lines}", Exit.USAGE) from None


def _file(path: str) -> dict[str, Any]:
    return read_yaml(path, "config file") if path else {}


async def _main(settings: Settings, environment: Mapping[str, str]) -> None:
    clock, metrics = SystemClock(), Metrics()
    connection = load(
        environment, kubeconfig=settings.kubeconfig or None, context=settings.context or None
    )
    namespace = settings.namespace or connection.namespace or "default"
    identity = f"{environment.get('POD_NAME') or socket.gethostname()}-{secrets.token_hex(4)}"
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with Client(
        connection, connections=settings.connections, on_call=metrics.called
    ) as client:
        recorder = Recorder(client, clock, identity, on_drop=metrics.events_dropped.inc)
        bus = Bus(clock, metrics, LogLines(), recorder)
        feature = Rollouts(client, clock, settings, bus, namespace)
        recorder.identify = feature.world.sources.identity
        recorder.is_busy = lambda: feature.roller.queue.is_ready
        metrics.workloads.set_function(lambda: len(feature.world.workloads))
        metrics.sources.set_function(lambda: len(feature.world.sources))
        metrics.queue_depth.set_function(lambda: len(feature.roller.queue))
        metrics.queue_age.set_function(lambda: feature.roller.queue.oldest)
        logs.Log("reroll").info(
            "starting", version=__version__, server=connection.route.server, namespace=namespace
        )
        supervisor = Supervisor(client, clock, settings, metrics, recorder, namespace, identity)
        deadline = asyncio.create_task(_deadline(stop, settings.grace.total_seconds()))
        checkup = Checkup(client, clock, settings, metrics, recorder, namespace)
        features: list[Feature] = [feature, checkup]
        if settings.webhook:
            from reroll.features.admission.feature import Webhook

            features.append(Webhook(client, clock, settings, namespace))
        if settings.injections:
            from reroll.engine.ports import EnginePort
            from reroll.features.injection.feature import Injections

            engine = EnginePort(feature.world)
            injections = Injections(client, clock, settings, bus, engine, supervisor.watches)
            metrics.injections.labels("true").set_function(lambda: injections.count(ready=True))
            metrics.injections.labels("false").set_function(lambda: injections.count(ready=False))
            features.append(injections)
        await supervisor.run(features, stop)
        deadline.cancel()
        with suppress(asyncio.CancelledError):
            await deadline


async def _deadline(stop: asyncio.Event, seconds: float) -> None:
    """When what is under way does not end in time, the process does."""
    await stop.wait()
    await asyncio.sleep(seconds + 1)
    print("reroll: not everything ended in time; ending now", file=sys.stderr)
    os._exit(Exit.FAILED)
