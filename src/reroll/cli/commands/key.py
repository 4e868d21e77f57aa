"""`reroll key`: the digest keys of an installation: what they are needed for, and a new one."""

import argparse
import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from reroll.answers.keys.keys import Ring, Usage, old, pruning, rotation, usage
from reroll.cli import cluster
from reroll.cli.cluster import resource
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_flags
from reroll.cli.output import add_output_flag, print_json, print_table
from reroll.cli.select import add_controller_flags, settings_of
from reroll.cli.targets import duration
from reroll.core.model.key import Key
from reroll.core.model.record import Record, read
from reroll.core.tables.annotations import STATE
from reroll.core.tables.kinds import Kind
from reroll.engine import keyring
from reroll.engine.content import Stub
from reroll.kube import wire
from reroll.kube.errors import Conflict, Forbidden, Malformed, NotFound
from reroll.kube.view import View
from reroll.settings.table import Settings

DESCRIPTION = """\
Digests of Secrets are made with a key, so that they give no weak password away. It is in a Secret
of the controller's namespace, and can be changed without rolling anything."""

STATUS = """\
Tell which keys there are, and how many records need each. No key is shown, only its id.

  reroll key status --controller-namespace reroll"""

ROTATE = """\
Make a new key and use it from now on. The controller rewrites the records that need an old one,
now or when it starts, and rolls nothing.

  reroll key rotate --controller-namespace reroll
  reroll key rotate --controller-namespace reroll --wait --prune"""

PRUNE = """\
Take out the old keys that no record needs. What may still be needed stays, unless --force: then
those workloads are recorded anew, which rolls nothing, and a change that was made meanwhile of
the Secrets they use is lost.

  reroll key prune --controller-namespace reroll"""

MOMENT = 1.0


class Seen(NamedTuple):
    ring: Ring
    usage: Usage


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, description, action in (
        ("status", STATUS, _status),
        ("rotate", ROTATE, _rotate),
        ("prune", PRUNE, _prune),
    ):
        sub = commands.add_parser(
            name,
            help=description.partition(".")[0].replace("\n", " "),
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == "rotate":
            sub.add_argument("--wait", action="store_true", help="until no record needs an old key")
            sub.add_argument(
                "--timeout", default="10m", metavar="10m", help="of --wait (default: 10m)"
            )
            sub.add_argument(
                "--prune", action="store_true", help="then take the old ones out; waits too"
            )
        if name == "prune":
            sub.add_argument("--force", action="store_true", help="also those that are needed")
        add_output_flag(sub)
        add_flags(sub, places=False)
        add_controller_flags(sub)
        sub.set_defaults(key_action=action)


Action = Callable[["Keys", argparse.Namespace], Awaitable[int]]


def run(args: argparse.Namespace) -> int:
    action: Action = args.key_action
    args.all_namespaces = True
    settings = settings_of(args)
    return cluster.look(args, lambda view: action(Keys(view, settings), args))


class Keys:
    """The Secret, and the records that need what is in it."""

    def __init__(self, view: View, settings: Settings) -> None:
        self._view, self._settings = view, settings
        self._home = settings.namespace or view.home
        self.where = f"Secret {self._home}/{settings.digest_key}"

    async def seen(self) -> Seen:
        """Raises if a record may be unseen: a key must not go because of that."""
        ring = await self._ring()
        records = [one for kind in self._settings.tables.kinds for one in await self._of(kind)]
        if self._view.gaps:
            raise CommandError(
                f"not all records can be seen: {'; '.join(dict.fromkeys(self._view.gaps))}"
            )
        return Seen(ring, usage(records, self._settings.tables.sources))

    async def _of(self, kind: Kind) -> list[tuple[Key, Record]]:
        found = []
        for one in await self._view.every(resource(kind), Stub, metadata_only=True):
            record = read((one.metadata.annotations or {}).get(STATE))
            if isinstance(record, Record):
                place = Key(kind.name, one.metadata.namespace, one.metadata.name)
                found.append((place, record))
        return found

    async def _ring(self) -> Ring:
        request = wire.get(keyring.SECRETS, self._home, self._settings.digest_key)
        try:
            raw = await self._view.client.send(request)
        except NotFound:
            raise CommandError(
                f"{self.where} does not exist; the controller makes it when it starts, or is "
                "elsewhere: --controller-namespace"
            ) from None
        except Forbidden:
            raise CommandError(f"{self.where} may not be read; grant `get` on it") from None
        secret = msgspec.json.decode(raw, type=keyring.KeySecret)
        try:
            _, keys = keyring.read(secret)
        except Malformed as error:
            raise CommandError(str(error)) from None
        return Ring(keys.current, keys.known, secret.metadata.resource_version)

    async def write(self, patch: dict[str, Any]) -> None:
        request = wire.merge_patch(keyring.SECRETS, self._home, self._settings.digest_key, patch)
        try:
            await self._view.client.send(request)
        except Conflict:
            raise CommandError(f"somebody else changed {self.where} just now; try again") from None
        except Forbidden:
            raise CommandError(f"{self.where} may not be changed; grant `patch` on it") from None


# The commands


async def _status(keys: Keys, args: argparse.Namespace) -> int:
    _show(keys, await keys.seen(), args)
    return Exit.OK


async def _rotate(keys: Keys, args: argparse.Namespace) -> int:
    limit = duration("--timeout", args.timeout).total_seconds()
    before = await keys.seen()
    new = secrets.token_hex(4)
    await keys.write(rotation(before.ring, new, secrets.token_bytes(32)))
    seen = await keys.seen()
    if args.wait or args.prune:
        seen = await _rewritten(keys, limit)
    if args.prune:
        await keys.write(pruning(seen.ring, old(seen.ring)))
        seen = await keys.seen()
    _show(keys, seen, args)
    return Exit.OK


async def _rewritten(keys: Keys, limit: float) -> Seen:
    """Once no record needs an old key."""
    end = asyncio.get_running_loop().time() + limit
    while (seen := await keys.seen()).usage.needing(waiting := old(seen.ring)):
        if asyncio.get_running_loop().time() > end:
            late = seen.usage.needing(waiting)
            raise CommandError(
                f"{len(late)} records still need an old key, {late[0]} is one of them; is the "
                "controller running, and is it opted in? `reroll key prune` goes on from here",
                Exit.TIMED_OUT,
            )
        await asyncio.sleep(MOMENT)
    return seen


async def _prune(keys: Keys, args: argparse.Namespace) -> int:
    seen = await keys.seen()
    needed = {one for one in old(seen.ring) if seen.usage.by_key.get(one)}
    doomed = old(seen.ring) if args.force else old(seen.ring) - needed
    if doomed:
        await keys.write(pruning(seen.ring, doomed))
    _show(keys, await keys.seen(), args)
    if needed and not args.force:
        raise CommandError(
            f"{', '.join(sorted(needed))} stays: {len(seen.usage.needing(needed))} records need "
            "it; the controller rewrites those that are opted in, --force gives up the others"
        )
    return Exit.OK


def _show(keys: Keys, seen: Seen, args: argparse.Namespace) -> None:
    ring, by_key = seen.ring, seen.usage.by_key
    ids = [ring.current, *sorted(old(ring)), *sorted(by_key.keys() - ring.ids)]
    if args.output == "json":
        print_json(
            {
                "secret": keys.where,
                "current": ring.current,
                "keys": [
                    {
                        "id": one,
                        "there": one in ring.ids,
                        "records": len(by_key.get(one, ())),
                    }
                    for one in ids
                ],
            }
        )
        return
    rows = [(one, _state(one, ring), str(len(by_key.get(one, ())))) for one in ids]
    print_table(("KEY", "STATE", "RECORDS"), rows)


def _state(key_id: str, ring: Ring) -> str:
    if key_id == ring.current:
        return "in use"
    return "old" if key_id in ring.ids else "not here: lost, or of another installation"
