"""`reroll dashboard`: the answers of the commands as pages, on this machine or in a cluster."""

import argparse
import asyncio
import importlib.util
import os
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from reroll import __version__
from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_controller_flags, add_flags
from reroll.kube.view import View

if TYPE_CHECKING:
    from reroll.dashboard.serve import Address, How

NEEDED = ("starlette", "uvicorn")
AUTHS = ("local", "token", "proxy", "none")
DESCRIPTION = """\
Show in a browser what is rolling and what needs you, what is held and why, who uses which ConfigMap
or Secret and who changed it, what happened, and whether the installation is well. It uses your
kubeconfig and your rights: what you may not read is not shown, and what you may not do is greyed
out.

It listens on 127.0.0.1 only. The address that it prints works once, for one browser.
Needs an extra: pip install 'reroll[dashboard]'

  reroll dashboard
  reroll dashboard -n shop --no-browser
  reroll dashboard --context prod --read-only --port 8300

In a cluster (the chart's dashboard.enabled), --auth says whose rights a page has:

  token  each person signs in with their own bearer token
  proxy  a proxy signs people in, and the dashboard acts as them
  none   the dashboard's own rights, read-only, for everyone who can reach it"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port",
        type=int,
        default=0,
        metavar="PORT",
        help="port to listen on (default: a free one; in a cluster 8300)",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, do not open a browser"
    )
    parser.add_argument(
        "--read-only", action="store_true", help="no buttons: nothing can be held or restarted"
    )
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", help="only workloads of this namespace (default: all)"
    )
    _add_cluster_flags(parser)
    _add_proxy_flags(parser)
    add_flags(parser, places=False)
    add_controller_flags(parser)


def _add_cluster_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("in a cluster")
    group.add_argument(
        "--auth", choices=AUTHS, help="whose rights a page has (default: local, yours)"
    )
    group.add_argument(
        "--address",
        metavar="ADDRESS",
        help="address to listen on (default: all addresses; 127.0.0.1 with --auth local)",
    )
    group.add_argument(
        "--public-url",
        action="append",
        default=[],
        metavar="URL",
        help="where people reach it, such as https://reroll.example.com (repeatable)",
    )
    group.add_argument("--tls-cert-file", metavar="FILE", help="certificate to serve https with")
    group.add_argument("--tls-key-file", metavar="FILE", help="its key")


def _add_proxy_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("with --auth proxy")
    group.add_argument(
        "--proxy-from",
        action="append",
        default=[],
        metavar="CIDR",
        help="address of the proxy; no other address is served (repeatable)",
    )
    group.add_argument(
        "--proxy-user-header",
        default="X-Forwarded-User",
        metavar="NAME",
        help="header with the user's name (default: %(default)s)",
    )
    group.add_argument(
        "--proxy-groups-header",
        default="X-Forwarded-Groups",
        metavar="NAME",
        help="header with the user's groups, separated by commas (default: %(default)s)",
    )
    group.add_argument(
        "--proxy-group",
        action="append",
        default=[],
        metavar="NAME",
        help="pass on only this group (repeatable; default: all)",
    )
    group.add_argument(
        "--proxy-secret-file",
        metavar="FILE",
        help="a secret that the proxy has to send in the header X-Reroll-Proxy-Secret",
    )


def run(args: argparse.Namespace) -> int:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandError(
            f"the dashboard needs {' and '.join(missing)}, which is not installed;"
            " run: pip install 'reroll[dashboard]'"
        )
    if not 0 <= args.port < 65536:
        raise CommandError(f"--port: {args.port} is not a port; use 1 to 65535", Exit.USAGE)
    how = _how(args)
    context = Context(args, everywhere=args.namespace is None)
    context.settings  # noqa: B018  settings that cannot be used are reported first
    try:
        return context.run(lambda view: _serve(view, context, how))
    except OSError as error:
        raise CommandError(
            f"cannot listen on {how.host or '*'}:{how.port}: {error.strerror};"
            " choose another --port"
        ) from None


def _how(args: argparse.Namespace) -> "How":
    """Where it listens and for whom; what cannot be is told in a sentence."""
    from reroll.dashboard.doors.proxy import TrustError
    from reroll.dashboard.hosts import HostError

    auth = args.auth or "local"
    if args.auth is None and _is_pod(args):
        raise CommandError(
            "this is a pod: say whose rights a page has with --auth token, proxy or none",
            Exit.USAGE,
        )
    if auth == "local" and (args.public_url or args.address):
        raise CommandError(
            "--auth local is for this machine alone; with --public-url or --address, say who may "
            "look with --auth token, proxy or none",
            Exit.USAGE,
        )
    if (args.tls_cert_file is None) != (args.tls_key_file is None):
        raise CommandError("--tls-cert-file and --tls-key-file go together", Exit.USAGE)
    if auth == "proxy" and not args.proxy_from:
        raise CommandError(
            "--auth proxy believes headers: say from which addresses with --proxy-from", Exit.USAGE
        )
    try:
        return _of_flags(args, auth)
    except TrustError as error:
        raise CommandError(f"--proxy-from: {error}", Exit.USAGE) from None
    except HostError as error:
        raise CommandError(f"--public-url: {error}", Exit.USAGE) from None


def _of_flags(args: argparse.Namespace, auth: str) -> "How":
    from reroll.dashboard.doors.proxy import Trust, networks
    from reroll.dashboard.hosts import public
    from reroll.dashboard.serve import LOOPBACK, How

    files = [args.tls_cert_file, args.tls_key_file, args.proxy_secret_file]
    for name in filter(None, files):
        if not Path(name).is_file():
            raise CommandError(f"{name}: there is no such file", Exit.USAGE)
    trust = Trust(
        networks(args.proxy_from),
        args.proxy_user_header,
        args.proxy_groups_header,
        frozenset(args.proxy_group),
        Path(args.proxy_secret_file) if args.proxy_secret_file else None,
    )
    is_local = auth == "local"
    return How(
        auth,
        LOOPBACK if is_local else args.address or "",
        args.port or (0 if is_local or args.address == LOOPBACK else 8300),
        public(args.public_url),
        trust,
        (args.tls_cert_file, args.tls_key_file) if args.tls_cert_file else None,
    )


def _is_pod(args: argparse.Namespace) -> bool:
    """Where `kube.auth` would take the rights of the pod."""
    named = args.kubeconfig or args.context or os.environ.get("KUBECONFIG")
    return not named and "KUBERNETES_SERVICE_HOST" in os.environ


async def _serve(view: View, context: Context, how: "How") -> int:
    from reroll.answers.doctor.gather import Wanted
    from reroll.dashboard.app import About
    from reroll.dashboard.serve import serve
    from reroll.dashboard.standpoint import Learnt, Setup

    async def learn(view: View) -> Learnt:
        await context.learn(view)
        return Learnt(context.settings, tuple(context.notes))

    choice, is_local = context.choice, how.auth == "local"
    settings = context.settings if context.has_settings else None
    wanted = Wanted(settings, choice.namespace, "", choice.lease)
    about = About(
        __version__,
        context.args.context or view.client.connection.route.server,
        read_only=context.args.read_only or how.auth == "none",
        why_read_only=f"it was started with --{'auth none' if how.auth == 'none' else 'read-only'}",
    )
    setup = Setup(context.clock, learn, wanted, __version__)
    if not is_local:
        setup = setup._replace(
            keeper=view, turn=asyncio.Semaphore(), hides_key_names=how.auth == "none"
        )
    await serve(view, setup, about, how, lambda at: _ready(at, context, is_local=is_local))
    return Exit.OK


def _ready(address: "Address", context: Context, *, is_local: bool) -> None:
    print(f"The dashboard is at {address.url}", flush=True)
    if is_local:
        print("Ctrl-C ends it.", flush=True)
    if is_local and not context.args.no_browser:
        webbrowser.open(address.url)
