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
from reroll.controller import bugs, logs
from reroll.controller.bus import Bus
from reroll.controller.context import Context
from reroll.controller.events import Recorder
from reroll.controller.feature import Feature
from reroll.controller.log_lines import LogLines
from reroll.controller.metrics import Metrics
from reroll.controller.supervisor import Supervisor
from reroll.features.checkup.feature import Checkup
from reroll.features.rolling.feature import Rolling
from reroll.kube.auth import load
from reroll.kube.client import Client
from reroll.kube.errors import ConfigError
from reroll.settings.resolve import SettingsError, resolve
from reroll.settings.rows import GROUPS
from reroll.settings.table import ROWS, SETTINGS, Settings

DESCRIPTION = (
    "Watch the cluster and roll opted-in workloads when their ConfigMaps or Secrets change.\n\n"
    "Every setting is a flag, an environment variable (REROLL_ and the flag's name, such as\n"
    "REROLL_LOG_LEVEL) and a key of the config file. The first of these that is set counts."
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.usage = "reroll run [--config FILE] [--SETTING VALUE ...]"
    parser.add_argument(
        "--config",
        metavar="FILE",
        help=f"YAML file with settings, and with rows for {', '.join(ROWS)} (also $REROLL_CONFIG)",
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
        raise CommandError(
            f"{group.exceptions[0]}; choose another with --listen or --probes"
        ) from None
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
    clock, metrics, stop = SystemClock(), Metrics(), asyncio.Event()
    connection = load(
        environment, kubeconfig=settings.kubeconfig or None, context=settings.context or None
    )
    namespace = settings.namespace or connection.namespace or "default"
    identity = f"{environment.get('POD_NAME') or socket.gethostname()}-{secrets.token_hex(4)}"
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(bugs.in_loop)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with Client(
        connection, connections=settings.connections, on_call=metrics.called
    ) as client:
        bus = Bus(clock, metrics, LogLines())
        context = Context(client, clock, settings, metrics, bus, namespace, identity)
        logs.Log("reroll").info(
            "starting", version=__version__, server=connection.route.server, namespace=namespace
        )
        deadline = asyncio.create_task(_deadline(stop, settings.grace.total_seconds()))
        await _supervise(context, stop, environment)
        deadline.cancel()
        with suppress(asyncio.CancelledError):
            await deadline


async def _supervise(context: Context, stop: asyncio.Event, environment: Mapping[str, str]) -> None:
    """Build the features that the settings switch on, and run them."""
    client, clock, bus, metrics = context.client, context.clock, context.bus, context.metrics
    rolling = Rolling(client, clock, context.settings, bus, context.namespace)
    world, queue = rolling.observer.world, rolling.queue
    recorder = Recorder(
        client,
        clock,
        context.identity,
        identify=world.sources.identity,
        is_busy=lambda: queue.is_busy,
        on_drop=metrics.events_dropped.inc,
    )
    bus.subscribe(recorder)
    metrics.measure(world.workloads, world.sources, rolling.backlog)
    metrics.propagations(world.propagation.groups)
    supervisor = Supervisor(context, recorder)
    always: list[Feature] = [rolling, Checkup(context, recorder)]
    notices, others = _on_request(context, rolling, supervisor, environment)
    # Notices have to be there when the first workload is looked at.
    await supervisor.run([*notices, *always, *others], stop)


def _on_request(
    context: Context, rolling: Rolling, supervisor: Supervisor, environment: Mapping[str, str]
) -> tuple[list[Feature], list[Feature]]:
    """Notices, and the other features that settings switch on: imported only then."""
    client, clock, settings = context.client, context.clock, context.settings
    metrics, world, queue = context.metrics, rolling.observer.world, rolling.queue
    first: list[Feature] = []
    others: list[Feature] = []
    if settings.gates:
        from reroll.engine.ports import EnginePort
        from reroll.features.gates.analyses import Analyses
        from reroll.features.gates.feature import Gates

        analyses = Analyses(client, clock, EnginePort(world))
        others.append(Gates(clock, world.propagation.gates, environment, analyses))
        metrics.read_gates(world.propagation.gates.counts)
    if settings.webhook:
        from reroll.features.admission.feature import Webhook

        others.append(Webhook(client, clock, settings, context.namespace))
    if settings.injections:
        from reroll.engine.ports import EnginePort
        from reroll.features.injection.feature import Injections

        injections = Injections(context, EnginePort(world), supervisor.watches)
        metrics.count_injections(injections)
        others.append(injections)
    if settings.notices:
        from reroll.features.notices.feature import Notices
        from reroll.features.notices.sending import Sender

        send = Sender(clock, environment).send
        notices = Notices(context, world, lambda: queue.is_busy, send)
        context.bus.subscribe(notices)
        first.append(notices)
    return first, others


async def _deadline(stop: asyncio.Event, seconds: float) -> None:
    """When what is under way does not end in time, the process does."""
    await stop.wait()
    await asyncio.sleep(seconds + 1)
    print("reroll: not everything ended in time; ending now", file=sys.stderr)
    os._exit(Exit.FAILED)
