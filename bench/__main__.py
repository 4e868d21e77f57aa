"""`python -m bench`: race the controller against the floor, and print ratios.

Speed depends on the machine; a ratio to a floor on the same control plane depends on it far less.
Both run in turn, several times, because a machine is not the same machine a minute later; what is
printed are medians. Nothing else should run meanwhile.
"""

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from bench.contenders import Floor, Process, RecordFloor
from bench.crowd import settled
from bench.ground import ground, say
from bench.load import Api, Sizes, make_background, make_field, make_others, onlookers
from bench.race import Course, following, medians, memory_with, race_alone, race_floor, race_reroll
from bench.table import FIGURES, beside, figures, table
from reroll_dev.cluster import DevCluster

FLOOR = "alice"
"""The floor is nobody special: the API server lets administrators jump its queues."""
RECORD = "floor-record"
FLOOR_RULES = (
    {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["list", "watch"]},
    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch"]},
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--sources", type=int, default=10_000, help="(default: 10000)")
    parser.add_argument(
        "--others", type=int, default=2500, help="workloads that did not opt in (default: 2500)"
    )
    parser.add_argument("--rounds", type=int, default=20, help="single changes (default: 20)")
    parser.add_argument("--heats", type=int, default=3, help="of each contender (default: 3)")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of everything; for a smoke test"
    )
    parser.add_argument(
        "--growth",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="measure memory with five times as many sources",
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="race the floor with the patch of a roll, too: what the record costs by itself",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--keep", action="store_true", help="leave the cluster running")
    args = parser.parse_args()
    sizes = Sizes(args.sources, rounds=args.rounds, others=args.others)
    if args.quick:
        sizes = Sizes(1000, 30, 20, 30, 5, 250)
    with ground("bench", keep=args.keep, others={FLOOR: FLOOR_RULES}) as cluster:
        measured = asyncio.run(_measure(cluster, sizes, args))
    found = figures(measured)
    print(table(found))
    if args.record:
        print(beside(measured))
    if args.json:
        args.json.write_text(json.dumps({"measured": measured, "figures": found}, indent=1) + "\n")
    missed = [row["figure"] for row in found if row["reached"] is False]
    if missed:
        say(f"{len(missed)} of {len(FIGURES)} figures missed: {', '.join(missed)}")
    return 0


async def _measure(cluster: DevCluster, sizes: Sizes, args: argparse.Namespace) -> dict[str, Any]:
    process = Process(cluster.kubeconfig("reroll"), cluster.layout.logs / "reroll.log")
    async with Api(cluster.kubeconfig()) as api, Api(cluster.kubeconfig(FLOOR)) as floor_api:
        await _seed(api, sizes, record=args.record)
        async with (
            Api(cluster.kubeconfig(), connections=1000) as eyes,
            onlookers(eyes, sizes.others),
            following(api) as templates,
        ):
            audit = cluster.audit_log

            def course(namespace: str, user: str) -> Course:
                return Course(api, templates, namespace, sizes, audit, user, say)

            floors = {"floor": ("floor", Floor(floor_api, "floor", sizes))}
            if args.record:
                floors["record"] = RECORD, RecordFloor(floor_api, RECORD, sizes)
            ran: dict[str, list[dict[str, Any]]] = {"floor": [], "reroll": []}
            for heat in range(args.heats):
                say(f"heat {heat + 1} of {args.heats}")
                for name, (namespace, floor) in floors.items():
                    ran.setdefault(name, []).append(
                        await race_floor(course(namespace, FLOOR), floor)
                    )
                await asyncio.sleep(3)
                ran["reroll"].append(await race_reroll(course("reroll-field", "reroll"), process))
            ran["reroll"].append(await race_alone(course("reroll-field", "reroll"), process))
            measured: dict[str, Any] = {name: medians(each) for name, each in ran.items()}
            measured["heats"] = ran
        if args.growth:
            small = await memory_with(process)
            say(f"making five times as many sources: {5 * sizes.sources}")
            await make_background(api, 5 * sizes.sources, 0, first=sizes.sources // 2)
            large = await memory_with(process)
            measured["reroll"] |= {"memory_1x_mb": small, "memory_5x_mb": large}
    return measured


async def _seed(api: Api, sizes: Sizes, *, record: bool) -> None:
    since = time.perf_counter()
    say(
        f"making {sizes.sources} sources, {sizes.releases} Helm releases,"
        f" {sizes.others} other workloads and those that race"
    )
    await make_background(api, sizes.sources, sizes.releases)
    await make_others(api, sizes.others)
    await make_field(api, "floor", sizes, {})
    if record:
        await make_field(api, RECORD, sizes, {"example.com/any": "true"})
    await make_field(api, "reroll-field", sizes, {"reroll.dev/enabled": "true"})
    say(f"made in {time.perf_counter() - since:.0f} s; waiting for the controllers to settle")
    await settled(api, sizes.others + (2 + record) * (4 + sizes.fan + sizes.storm))
    await asyncio.sleep(10)


if __name__ == "__main__":
    sys.exit(main())
