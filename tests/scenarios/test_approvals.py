"""Approvals: one content, by who has the verb, with their own name; the API server guards it."""

import fcntl
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.scenarios.rolling import Command, a_web
from tests.scenarios.stage import Controller, Stage, again, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.command import Finished, reroll

from reroll.cli.errors import Exit
from reroll_dev.api import Api, ApiError, path_to
from reroll_dev.cluster import DevCluster

EDITS = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch"]}
APPROVES = {"apiGroups": ["reroll.dev"], "resources": ["approvals"], "verbs": ["approve"]}
SEES = {
    "apiGroups": ["admissionregistration.k8s.io"],
    "resources": ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
    "verbs": ["list"],
}
Login = Callable[..., Path]
CONTENT = "5f" * 16


@pytest.fixture(autouse=True)
def one_at_a_time(cluster: DevCluster) -> Iterator[None]:
    """There is one guard for the whole cluster: who expects none must not meet it."""
    with (cluster.folder / "approvals.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def approve(cluster: DevCluster, namespace: str) -> Callable[..., Finished]:
    """`approve("configmap/app")`, or another of the two commands, as some user."""

    def run(*args: str, command: str = "approve", identity: Path | None = None) -> Finished:
        login = identity or cluster.kubeconfig()
        where = ("-n", namespace, "--kubeconfig", login, "--controller-namespace", namespace)
        return reroll(command, *where, *args)

    return run


@pytest.fixture
def guard(cluster: DevCluster, namespace: str) -> Iterator[Callable[..., Finished]]:
    """`reroll approvals`, under a name of this test's own."""
    login = ("--kubeconfig", cluster.kubeconfig())

    def run(command: str) -> Finished:
        more = () if command == "status" else ("--name", f"approvals-{namespace}")
        return reroll("approvals", command, *more, *login)

    yield run
    run("uninstall")


def asking(**more: str) -> Object:
    return build.configmap(annotations={"reroll.dev/approval": "required", **more})


def told(stage: Stage, one: Object, reason: str, *words: str) -> str:
    def found() -> str | None:
        said = [event["message"] for event in stage.events(one, reason)]
        return next((text for text in said if all(word in text for word in words)), None)

    return str(eventually(found, f"{reason} {words}"))


def content_in(message: str) -> str:
    return message.rpartition("--content ")[2].rstrip("`")


def test_a_content_waits_for_its_own_approval_and_a_further_change_voids_it(
    stage: Stage, controller: Callable[..., Controller], approve: Command, status: Command
) -> None:
    stage.make(asking())
    web = stage.make(a_web())
    one = controller()
    number = stage.adopted(web)["n"]

    stage.change("ConfigMap", "app", key="first")
    first = content_in(told(stage, web, "Unapproved"))
    stage.change("ConfigMap", "app", key="second")
    second = waits(status, but=first)
    late = approve("configmap/app", "--content", first)
    assert late.code != Exit.OK
    assert "does not hold the content" in late.err
    rejected = approve("configmap/app", "--reason", "wrong size", command="reject")
    assert rejected.code == Exit.OK, rejected.err
    told(stage, web, "Unapproved", "was rejected by", "wrong size")
    again(one)
    stage.quiet(web)
    assert stage.stamp(web) is None

    done = approve("configmap/app", "--content", second[:10])
    assert (done.code, "nothing guards approvals" in done.err) == (Exit.OK, True)
    number = stage.rolled(web, number)["n"]
    assert status("--unapproved").out.strip() == "Nothing waits for approval."
    stage.change("ConfigMap", "app", key="third")
    third = waits(status, but=second)
    told(stage, web, "Unapproved", third)
    again(one)
    stage.quiet(web)
    assert stage.record(web)["n"] == number


def waits(status: Command, but: str) -> str:
    """The one content that waits, which is another one than this."""

    def found() -> str | None:
        open_ = status("--unapproved", "-o", "json").json["unapproved"]
        assert [(each["name"], each["state"]) for each in open_] == [("app", "waits")]
        assert [each["name"] for each in open_[0]["workloads"]] == ["web"]
        assert open_[0]["by"]
        return None if open_[0]["content"] == but else open_[0]["content"]

    return str(eventually(found, "another content waits"))


def test_the_api_server_lets_only_those_approve_who_may_and_with_their_own_name(
    stage: Stage, api: Api, kubeconfig_for: Login, approve: Command,
    guard: Callable[..., Finished],
) -> None:  # fmt: skip
    stage.make(asking())
    editor = kubeconfig_for([EDITS, SEES], None)
    approver = kubeconfig_for([EDITS, APPROVES, SEES], None)
    path = path_to("ConfigMap", "app", stage.namespace)
    apis = {login: Api.from_kubeconfig(login) for login in (editor, approver)}

    def write(login: Path, **annotations: str | None) -> str:
        """What the server says to these annotations; empty: yes."""
        keys = {f"reroll.dev/{name}": text for name, text in annotations.items()}
        try:
            apis[login].patch(path, {"metadata": {"annotations": keys}})
        except ApiError as error:
            return str(error)
        return ""

    assert "whoever may write a source may approve it" in guard("status").out
    assert guard("install").code == Exit.OK
    assert "only those with the verb approve" in guard("status").out
    mine = f"{CONTENT} by {name_of(stage, approver)}"
    numbers = count()  # What is there already is no change.
    eventually(lambda: write(editor, approved=f"{next(numbers):032x} by x"), "it is in force")

    theirs = f"{CONTENT} by {name_of(stage, editor)}"
    assert "the verb approve" in write(editor, approved=theirs)
    assert "the verb approve" in write(editor, approval=None)
    assert "the verb approve" in write(editor, urgent="true")
    assert "your own name" in write(approver, approved=theirs)
    assert "your own name" in write(approver, approved="yes")
    assert write(approver, approved=mine) == ""
    assert write(editor, team="shop") == ""
    assert "the verb approve" in write(editor, approved=None)
    assert "your own name" in write(approver, rejected=f"{theirs}: no")
    assert write(approver, approved=None, rejected=f"{mine}: no") == ""
    created = build.configmap("other", annotations={"reroll.dev/approved": theirs})
    with pytest.raises(ApiError, match="the verb approve"):
        apis[editor].create(created, namespace=stage.namespace)

    refused = approve("configmap/app", identity=editor)
    assert (refused.code != Exit.OK, "the verb approve" in refused.err) == (True, True)
    done = approve("configmap/app", identity=approver)
    assert (done.code, done.err) == (Exit.OK, "")
    held = api.get(path)["metadata"]["annotations"]
    assert held["reroll.dev/approved"].endswith(f" by {name_of(stage, approver)}")
    assert "reroll.dev/rejected" not in held
    for each in apis.values():
        each.close()


def name_of(stage: Stage, login: Path) -> str:
    return f"system:serviceaccount:{stage.namespace}:{login.stem}"


def test_a_secret_is_approved_without_its_key_and_a_time_out_tells(
    stage: Stage, controller: Callable[..., Controller], kubeconfig_for: Login, approve: Command
) -> None:
    asks = {"reroll.dev/approval": "required", "reroll.dev/approval-timeout": "2s"}
    stage.make(build.secret("db", annotations=asks))
    web = stage.make(build.deployment(
        "web", uses=["secret/db"], annotations={"reroll.dev/enabled": "true"}
    ))  # fmt: skip
    controller()
    number = stage.adopted(web)["n"]
    stage.change("Secret", "db", password="new")
    told(stage, web, "ApprovalOverdue")
    assert stage.record(web)["n"] == number
    # One who may write the Secret, and read neither the Secret nor the key.
    writes = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["patch"]}
    login = kubeconfig_for([writes], None)
    message = told(stage, web, "ApprovalOverdue")
    unnamed = approve("secret/db", identity=login)
    assert "name it with --content" in unnamed.err
    done = approve("secret/db", "--content", content_in(message), identity=login)
    assert done.code == Exit.OK, done.err
    stage.rolled(web, number)
