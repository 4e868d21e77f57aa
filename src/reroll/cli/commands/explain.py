"""`reroll explain`: why a workload rolls or does not, in plain sentences."""

import argparse
from collections.abc import Iterator

from reroll.answers.explain.document import Explained, facts
from reroll.answers.explain.gather import explained
from reroll.answers.explain.meant import by_name, by_pod
from reroll.answers.explain.provenance import unread
from reroll.cli.command import Context
from reroll.cli.commands import explain_injection
from reroll.cli.errors import CommandError, Exit
from reroll.cli.explained import sentences, tables
from reroll.cli.flags import add_controller_flags, add_flags, add_selector_flag
from reroll.cli.show import Answer, Table, add_output_flag, target
from reroll.cli.targets import is_pod, targets
from reroll.core.model.key import Key
from reroll.core.observe.approval import needs_approval
from reroll.engine.approval_guard import UNGUARDED, is_guarded
from reroll.engine.circumstances import judged
from reroll.kube.view import View

DESCRIPTION = """\
Explain one workload: which ConfigMaps and Secrets it uses and how, whether they have changed since
its last roll and who changed them, which annotation, setting or default decided what, what is in
the way now, and how its last rollout went. --gates adds what each gate said. It works for a
workload that has not opted in, too. Values are never shown.

Or explain one Injection: what it writes where, and what is in its way.

  reroll explain deployment/web -n shop
  reroll explain sts/db -n shop -o json
  reroll explain -l tier=web -n shop
  reroll explain -A                       every workload that has opted in
  reroll explain injection/harbor-s3 -n registry"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "workloads",
        nargs="*",
        metavar="KIND/NAME",
        help="deployment/web, pod/web-1 (for the workload that owns it) or injection/s3",
    )
    add_selector_flag(parser)
    parser.add_argument(
        "--gates", action="store_true", help="also show what each gate of the decision said"
    )
    add_output_flag(parser)
    add_flags(parser)
    add_controller_flags(parser)


def run(args: argparse.Namespace) -> int:
    injections = [each for each in args.workloads if explain_injection.is_meant(each)]
    if injections:
        if len(args.workloads) > 1:
            raise CommandError("name one Injection, and nothing else", Exit.USAGE)
        return explain_injection.run(args, injections[0])
    if not (args.workloads or args.selector or args.all_namespaces):
        raise CommandError(
            "name a workload (KIND/NAME), or select several with -l or -A", Exit.USAGE
        )
    context, words = Context(args), targets(args.workloads)
    kind, _, name = words[0].partition("/") if len(words) == 1 else ("", "", "")
    if (is_pod(kind) and name) or (kind and not name):
        return context.answer(lambda view: _explain_meant(view, context, words[0]))
    context.check_usage()
    return context.answer(lambda view: _explain(view, context))


async def _explain_meant(view: View, context: Context, word: str) -> Answer:
    """A pod, or a name alone: the workload that is meant is looked for."""
    _, _, pod = word.partition("/")
    if pod:
        key: Key | None = await by_pod(view, pod, context.tables)
    else:
        key = await by_name(view, word, context.tables)
    return await _explain(view, Context(context.args, workloads=[target(key) if key else word]))


async def _explain(view: View, context: Context) -> Answer:
    """Without a name or labels, only what is opted in: the others are all there is."""
    args = context.args
    listing = await context.listing(view, supposing=bool(args.workloads or args.selector))
    decisions = await listing.decisions(listing.workloads)
    now = context.clock.now()
    known = await judged(view, listing, decisions, now)
    mine = [one for one in known if args.workloads or one.decision.snapshot]
    all_ = [await explained(view, listing, one, context.settings, now) for one in mine]
    for one in mine:
        listed = listing.workloads[one.key]
        listing.notes += unread(listed.kind, listed.manifest, listing.world.dialects)
    if any(needs_approval(one.decision.snapshot) for one in mine if one.decision.snapshot):
        listing.notes += [UNGUARDED] if await is_guarded(view.client) is False else []
    notes = {"problems": view.gaps, "notes": listing.notes}
    documents = [facts(one) for one in all_]
    is_one = len(targets(args.workloads)) == 1
    return Answer(
        document={**documents[0], **notes} if is_one else {"workloads": documents, **notes},
        text=[*_text(all_, gates=args.gates)] if all_ else ["No workload here is selected."],
        names=[target(one.snapshot.workload.key) for one in all_],
        warnings=[*view.gaps, *listing.notes],
        code=Exit.FAILED if view.gaps else Exit.OK,
    )


def _text(all_: list[Explained], *, gates: bool) -> Iterator[Table | str]:
    for number, one in enumerate(all_):
        if number:
            yield ""
        yield from sentences(one)
        yield from tables(one, gates=gates)
