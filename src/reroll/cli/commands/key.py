"""`reroll key`: the digest keys of an installation: what they are needed for, and a new one."""

import argparse
import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from reroll.answers.finder import HOW_TO_CHOOSE
from reroll.answers.keys.gather import KeysInUse, keys_in_use
from reroll.answers.keys.keys import Ring, old, pruning, rotation
from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_controller_flags, add_dry_run_flag, add_flags
from reroll.cli.help import Help
from reroll.cli.sentences import warn
from reroll.cli.show import Answer, Table, add_output_flag, show
from reroll.cli.targets import duration
from reroll.clock import Clock
from reroll.core.model.key import Key
from reroll.core.model.names import several
from reroll.kube import api, resources
from reroll.kube.errors import Conflict, Forbidden
from reroll.kube.objects import Stub
from reroll.kube.view import View
from reroll.settings.table import Settings

DESCRIPTION = """\
Digests of Secrets are made with a key, so that a weak password cannot be guessed from them. The key
is in a Secret in the controller's namespace, and can be changed without rolling anything."""

STATUS = """\
Show which keys there are, and how many records need each. Keys are shown by id only.

  reroll key status"""

ROTATE = """\
Make a new key and use it from now on. The controller rewrites the records that need an old one, now
or when it starts, and rolls nothing.

  reroll key rotate
  reroll key rotate --wait --prune"""

PRUNE = """\
Remove the old keys that no managed workload needs. With --force, also remove those that are needed:
their workloads are then recorded with the current key, and roll if their Secrets were written
since. Records of workloads that are not managed do not count.

  reroll key prune"""

MOMENT = 1.0


def configure(parser: argparse.ArgumentParser) -> None:
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
            formatter_class=Help,
        )
        if name == "rotate":
            sub.add_argument(
                "--wait", action="store_true", help="wait until no record needs an old key"
            )
            sub.add_argument(
                "--timeout",
                default="10m",
                metavar="10m",
                help="how long --wait may take (default: 10m)",
            )
            sub.add_argument("--prune", action="store_true", help="wait, then remove the old keys")
        if name == "prune":
            sub.add_argument(
                "--force", action="store_true", help="also remove keys that are still needed"
            )
        if name != "status":
            add_dry_run_flag(sub)
        add_output_flag(sub)
        add_flags(sub, places=False)
        add_controller_flags(sub)
        sub.set_defaults(key_action=action)


Action = Callable[["Keys", Context], Awaitable[None]]


def run(args: argparse.Namespace) -> int:
    context = Context(args, everywhere=True)

    async def with_keys(view: View) -> int:
        candidates = await context.learn(view)
        if len(candidates) > 1:
            raise CommandError(
                f"each installation has keys of its own, and there are {len(candidates)}: "
                f"{several([str(one) for one in candidates])}; {HOW_TO_CHOOSE}",
                Exit.USAGE,
            )
        warn(context.notes)
        await args.key_action(Keys(view, context.settings, context.clock), context)
        return Exit.OK

    return context.run(with_keys)


class Keys:
    """The Secret, and the records that need what is in it."""

    def __init__(self, view: View, settings: Settings, clock: Clock) -> None:
        self._view, self._settings, self._clock = view, settings, clock
        self.secret = Key("Secret", settings.namespace or view.home, settings.digest_key)

    async def read(self) -> KeysInUse:
        return await keys_in_use(self._view, self._clock, self._settings, self.secret)

    async def write(self, patch: dict[str, Any]) -> None:
        _, namespace, name = self.secret
        try:
            await api.merge(self._view.client, resources.SECRETS, namespace, name, patch, Stub)
        except Conflict:
            raise CommandError(f"somebody else changed {self.secret} just now; try again") from None
        except Forbidden:
            raise CommandError(f"{self.secret} may not be changed; grant `patch` on it") from None


# The commands


async def _status(keys: Keys, context: Context) -> None:
    _show(keys, await keys.read(), context)


async def _rotate(keys: Keys, context: Context) -> None:
    args = context.args
    limit = duration("--timeout", args.timeout).total_seconds()
    before = await keys.read()
    if args.dry_run:
        _show(keys, before, context)
        warn(
            [f"{keys.secret} would get another key, and {before.ring.current} would be an old one"]
        )
        return
    new = secrets.token_hex(4)
    await keys.write(rotation(before.ring, new, secrets.token_bytes(32)))
    state = await keys.read()
    if args.wait or args.prune:
        state = await _rewritten(keys, limit)
    if args.prune:
        await keys.write(pruning(state.ring, old(state.ring)))
        state = await keys.read()
    _show(keys, state, context)


def _records(count: int) -> str:
    return f"{count} record{'' if count == 1 else 's'}"


async def _rewritten(keys: Keys, limit: float) -> KeysInUse:
    """Once no record needs an old key."""
    end = asyncio.get_running_loop().time() + limit
    while (state := await keys.read()).usage.needing(waiting := old(state.ring)):
        if asyncio.get_running_loop().time() > end:
            late = state.usage.needing(waiting)
            raise CommandError(
                f"an old key is still needed by {_records(len(late))}, {late[0]} is one of them; "
                "is the controller running, and is it opted in? "
                "continue with `reroll key prune`",
                Exit.TIMED_OUT,
            )
        await asyncio.sleep(MOMENT)
    return state


async def _prune(keys: Keys, context: Context) -> None:
    state = await keys.read()
    needed = {one for one in old(state.ring) if state.usage.by_key.get(one)}
    doomed = old(state.ring) if context.args.force else old(state.ring) - needed
    if doomed and context.args.dry_run:
        warn([f"{', '.join(sorted(doomed))} would be removed from {keys.secret}"])
    elif doomed:
        await keys.write(pruning(state.ring, doomed))
    _show(keys, await keys.read(), context)
    if needed and not context.args.force:
        raise CommandError(
            f"{', '.join(sorted(needed))} stays: {_records(len(state.usage.needing(needed)))} made "
            "with it; the controller rewrites those that are opted in, --force gives up the others"
        )


def _show(keys: Keys, state: KeysInUse, context: Context) -> None:
    ring, by_key = state.ring, state.usage.by_key
    ids = [ring.current, *sorted(old(ring)), *sorted(by_key.keys() - ring.ids)]
    counts = {each: len(by_key.get(each, ())) for each in ids}
    document = {
        "secret": str(keys.secret),
        "current": ring.current,
        "keys": [
            {"id": each, "there": each in ring.ids, "records": count}
            for each, count in counts.items()
        ],
        "unmanaged": len(state.others.needing(state.others.by_key.keys() - {ring.current})),
    }
    rows = [(each, _state(each, ring), str(count)) for each, count in counts.items()]
    show(context.output, Answer(document, [Table(("KEY", "STATE", "RECORDS"), rows)], ids))


def _state(key_id: str, ring: Ring) -> str:
    if key_id == ring.current:
        return "in use"
    return "old" if key_id in ring.ids else "not here: lost, or of another installation"
