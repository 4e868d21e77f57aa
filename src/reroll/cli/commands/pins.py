"""`reroll pins`: have pods of pinned templates start with the config of their own revision."""

import argparse
from collections.abc import Iterable
from typing import Any

from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_dry_run_flag, add_flags
from reroll.cli.sentences import warn
from reroll.cli.show import Answer, Table, add_output_flag, show
from reroll.clock import SystemClock
from reroll.core.model.key import Key
from reroll.core.policy.patterns import is_plain_name
from reroll.core.policy.selectors import parse_selector
from reroll.engine import admission_objects
from reroll.engine.admission_objects import EXEMPT, NAME, OFF, SWITCH, Manifest, Mode
from reroll.engine.rewriters import Installation, installations
from reroll.features.admission import install, modes
from reroll.features.admission.install import Done
from reroll.features.admission.modes import Choice
from reroll.features.admission.probe import Probe, probe
from reroll.kube import resources
from reroll.kube.view import View

DESCRIPTION = f"""\
Workloads with `reroll.dev/revisions: "true"` are pinned to copies of their ConfigMaps and Secrets.
This makes new pods use those copies, in one of three modes:

  policy     a MutatingAdmissionPolicy: CEL inside the API server
  webhook    `reroll run --webhook` answers: for older API servers
  template   nothing to install: the controller writes names into templates

Only pods with pins are rewritten. Namespaces with the label `{SWITCH}={OFF}`,
kube-system and the controller's own are left out; the controller uses `template` there.

  reroll pins install                       the best mode that the cluster has
  reroll pins install --dry-run > pins.yaml to keep it in Git
  reroll pins status -n shop                what is installed, and if it works
  reroll pins uninstall"""


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="pins_command", metavar="COMMAND", required=True)
    for name, summary, add_arguments, action in COMMANDS:
        sub = commands.add_parser(name, help=summary, description=summary)
        add_arguments(sub)
        add_output_flag(sub)
        add_flags(sub, places=False)
        sub.set_defaults(pins_action=action)


def run(args: argparse.Namespace) -> int:
    result: int = args.pins_action(args)
    return result


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", default=NAME, help=f"name of the objects (default: {NAME})")


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-n",
        "--namespace",
        metavar="NAME",
        help="where to try it (default: namespace of the context)",
    )


def _add_install(parser: argparse.ArgumentParser) -> None:
    _add_name(parser)
    _add_place(parser)
    parser.add_argument(
        "--mode",
        choices=("auto", *(mode.value for mode in Mode)),
        default="auto",
        help="which mode (default: auto, the best that the cluster has)",
    )
    parser.add_argument(
        "--namespace-selector",
        default="",
        metavar="LABELS",
        help="only namespaces with these labels (default: all that are not left out)",
    )
    parser.add_argument(
        "--exclude-namespaces",
        metavar="NAMES",
        help=f"leave these out (default: {', '.join(EXEMPT)} and that of the controller)",
    )
    parser.add_argument(
        "--controller-namespace",
        metavar="NAME",
        help="where the controller and its Service are (default: that of the context)",
    )
    parser.add_argument(
        "--url", default="", help="where the webhook is, if not behind that Service"
    )
    parser.add_argument(
        "--secret",
        default=install.CERTIFICATES,
        metavar="NAME",
        help=f"Secret with the webhook's certificates (default: {install.CERTIFICATES})",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="apply nothing; print the manifests as YAML"
    )


def _add_uninstall(parser: argparse.ArgumentParser) -> None:
    _add_name(parser)
    installable = (Mode.POLICY.value, Mode.WEBHOOK.value)
    parser.add_argument(
        "--mode",
        choices=("all", *installable),
        default="all",
        help="remove only this mode (default: all)",
    )
    add_dry_run_flag(parser)


# Install


def _install(args: argparse.Namespace) -> int:
    wanted = None if args.mode == "auto" else Mode(args.mode)
    selected = _requirements(args.namespace_selector)
    text = args.exclude_namespaces
    named = None if text is None else _names(text)

    async def action(view: View) -> int:
        home = args.controller_namespace or view.home
        offers = await install.capabilities(view.client, home, args.url)
        if wanted and (problem := modes.problem(wanted, offers)):
            raise CommandError(problem)
        choice = modes.select(wanted, offers)
        excluded = _usually_excluded(args, choice, home) if named is None else named
        only = [*admission_objects.exempt(excluded), *selected]
        if args.dry_run:
            print_yaml(modes.objects(choice, args.name, only))
            warn([_sentence(choice)])
            return Exit.OK
        trusted = ""
        if choice.mode is Mode.WEBHOOK:
            trusted = await install.authorities(view.client, home, args.secret)
        return await _put(view, args, choice, modes.objects(choice, args.name, only, trusted))

    return Context(args).run(action)


async def _put(view: View, args: argparse.Namespace, choice: Choice, wanted: list[Manifest]) -> int:
    done, tested = await install.install(view, SystemClock(), choice, wanted)
    facts = {"mode": choice.mode, "why": choice.why, **_facts(done)}
    document = {**facts, "tried": tested._asdict()}
    show(args.output, Answer(document, [_table(done), _sentence(choice)], _names_of(done)))
    if tested.rewritten is False:
        raise CommandError(_not_in_force(tested, choice.mode))
    beside = _beside(choice, args.name, await installations(view.client))
    warn([*_untested(tested), *beside])
    return Exit.OK


def _untested(tested: Probe) -> Iterable[str]:
    if tested.namespace and tested.rewritten is None:
        yield f"namespace {tested.namespace} is left out, so it was not tried; try another with -n"


def _beside(choice: Choice, name: str, installed: list[Installation]) -> Iterable[str]:
    """Installations in other modes stay: to remove them first would leave a gap."""
    for one in installed:
        if one.name == name and one.mode is not choice.mode:
            yield (
                f"{one.mode} {name} is installed, too; remove it with "
                f"`reroll pins uninstall --mode {one.mode} --name {name}`"
            )


def _sentence(choice: Choice) -> str:
    if choice.mode is Mode.TEMPLATE:
        return f"mode template, because {choice.why}: nothing has to be installed"
    return f"mode {choice.mode}, because {choice.why}"


def _not_in_force(tested: Probe, mode: Mode) -> str:
    if not tested.problem:
        return (
            f"the API server takes the {mode} but does not apply it: a new pod in namespace "
            f"{tested.namespace} is not rewritten, so it was removed again; switch the feature "
            "gate MutatingAdmissionPolicy on, or use --mode webhook or template"
        )
    hint = "; is the controller there, with --webhook?" if mode is Mode.WEBHOOK else ""
    return f"it is installed, but no pod could be made to try it: {tested.problem}{hint}"


def _requirements(text: str) -> list[Manifest]:
    selector = parse_selector(text)
    if selector is None:
        raise CommandError(
            f'--namespace-selector: {text!r} is not a label selector; use e.g. "team=shop"',
            Exit.USAGE,
        )
    return [admission_objects.expression(one) for one in selector.requirements]


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if odd := next((name for name in names if not is_plain_name(name)), None):
        raise CommandError(
            f'--exclude-namespaces: {odd!r} is not a name; write e.g. "kube-system,reroll"',
            Exit.USAGE,
        )
    return names


def _usually_excluded(args: argparse.Namespace, choice: Choice, home: str) -> list[str]:
    """What waits for the webhook must not be what serves it."""
    is_known = args.controller_namespace or choice.mode is Mode.WEBHOOK
    return [*EXEMPT, home] if is_known else [*EXEMPT]


# Uninstall


def _uninstall(args: argparse.Namespace) -> int:
    async def ask(view: View) -> Answer:
        which = tuple(Mode) if args.mode == "all" else (Mode(args.mode),)
        done = await install.remove(view.client, args.name, which, dry_run=args.dry_run)
        left = await install.dependents(view, SystemClock())
        document = {**_facts(done), "pinned": left}
        text = _table(done) if done else f"nothing called {args.name} was installed"
        return Answer(document, [text], _names_of(done), [*_left(left), *view.gaps])

    return Context(args).answer(ask)


def _left(keys: list[Key]) -> Iterable[str]:
    if keys:
        names = ", ".join(map(str, keys))
        yield (
            f"still pinned: {names}; new pods of these start with the plain, current config. "
            "Annotate them with `reroll.dev/pin: template` to have the names written into their "
            "templates, or install the rewriting again with `reroll pins install`"
        )


# Status


def _status(args: argparse.Namespace) -> int:
    async def ask(view: View) -> Answer:
        installed = await installations(view.client)
        tested = await probe(view, SystemClock())
        rows = [{"mode": one.mode, "name": one.name, "version": one.version} for one in installed]
        table = Table(("MODE", "NAME", "API"), [_row(one) for one in installed])
        document = {"installed": rows, "tried": tested._asdict()}
        names = [one.name for one in installed]
        return Answer(document, [table, _state(installed, tested)], names, view.gaps)

    return Context(args).answer(ask)


def _row(one: Installation) -> tuple[str, str, str]:
    version = one.version or resources.WEBHOOKS.version
    return one.mode, one.name, f"{resources.ADMISSION_GROUP}/{version}"


def _state(installed: list[Installation], tested: Probe) -> str:
    where = f"namespace {tested.namespace}"
    if tested.rewritten:
        return f"{where}: a pinned pod is rewritten when it is made (tried just now)"
    if tested.problem:
        return f"{where}: no pod could be made to try it: {tested.problem}"
    if tested.mode is not Mode.TEMPLATE:
        return f"{where}: {tested.mode} is installed, but pods are not rewritten (tried just now)"
    why = "it is left out" if installed else "nothing is installed"
    return f"{where}: pods are not rewritten ({why}); names are written into templates"


# What is shown


def _table(done: list[Done]) -> Table:
    return Table(("KIND", "NAME", "RESULT"), done)


def _names_of(done: list[Done]) -> list[str]:
    return [f"{one.kind.lower()}/{one.name}" for one in done]


def _facts(done: list[Done]) -> dict[str, Any]:
    return {"objects": [one._asdict() for one in done]}


def print_yaml(objects: list[Manifest]) -> None:
    import yaml

    print(yaml.safe_dump_all(objects, sort_keys=False, width=1000), end="")


COMMANDS = (
    ("install", "install it, in the best mode or in the one you choose", _add_install, _install),
    (
        "uninstall",
        "remove it, and list the workloads that still have pins",
        _add_uninstall,
        _uninstall,
    ),
    ("status", "show what is installed, and try whether pods are rewritten", _add_place, _status),
)
