"""What `reroll explain` and `reroll graph` tell of Injections: everything but values."""

from tests.scenarios.injecting import Injecting, gadget, injection, source
from tests.scenarios.stage import Stage
from tests.support import build
from tests.support.command import Finished, reroll
from tests.support.tools import kubeconfig_of

from reroll_dev.cluster import DevCluster


def test_an_injection_is_explained_and_drawn(
    injecting: Injecting, stage: Stage, cluster: DevCluster
) -> None:
    admin = ("-n", stage.namespace, "--kubeconfig", str(kubeconfig_of(cluster, "admin")))

    def explain(*args: str) -> Finished:
        return reroll("explain", *args, *admin)

    keys = [source("db", "user"), source("db", "password"), source("app", "host", "ConfigMap")]
    one = injection(
        "db-url", keys, gadget("g"), ".spec.token", template="{{ user }}:{{ password }}@{{ host }}"
    )
    other = injection("waits", source("nowhere", "k"), gadget("g"), ".spec.nested.token")
    stage.make(
        build.secret("db", {"user": "shop", "password": "hunter2222"}),
        build.configmap("app", {"host": "db.local"}),
        gadget("g"), one, other,
    )  # fmt: skip
    new = explain("injection/db-url")
    assert "No controller has looked at it yet; is one running with --injections?" in new.out
    running = injecting.run()
    injecting.said(one, "Injected")
    injecting.said(other, "SourceMissing")

    done = explain("injections/db-url")
    assert (done.code, done.err) == (0, "")
    manager = f"reroll-injection/{stage.namespace}/db-url"
    lines = done.out.splitlines()
    assert lines[:3] == [
        f"Injection {stage.namespace}/db-url",
        (
            "  It writes key user of Secret db, key password of Secret db, key host of "
            f"ConfigMap app through its template to .spec.token of Gadget {stage.namespace}/g."
        ),
        (f"  Decision: Injected: a string at .spec.token of Gadget {stage.namespace}/g."),
    ]
    assert lines[3].endswith(f" as {manager}.")
    assert lines[4:6] == [
        f"  The field is owned by {manager}.",
        f"  Anyone who may read Gadget {stage.namespace}/g can read the value there.",
    ]
    assert "hunter2222" not in done.out
    facts = explain("injection/db-url", "-o", "json").json
    assert facts["owners"] == [{"manager": manager, "operation": "Apply"}]
    assert [one["key"] for one in facts["sources"]] == ["user", "password", "host"]
    assert {one["type"]: one["status"] for one in facts["conditions"]} == {
        "Ready": "True", "Conflict": "False", "SourceMissing": "False", "Forbidden": "False",
    }  # fmt: skip
    missing = explain("injection/db-ulr")
    assert missing.code == 1
    assert f"there is no Injection db-ulr in namespace {stage.namespace}; did" in missing.err
    assert "did you mean injection/db-url?" in missing.err

    drawn = reroll("graph", *admin).out.splitlines()
    how = "key host into Gadget g, .spec.token"
    assert drawn[:3] == [stage.namespace, "├─ ConfigMap app", f"│  └─ Injection db-url: {how}"]
    assert drawn[-2:] == [
        "└─ Secret nowhere (missing)",
        "   └─ Injection waits: key k into Gadget g, .spec.nested.token",
    ]
    alone = reroll("graph", "injection/db-url", *admin).out.splitlines()
    assert alone == [
        f"Injection {stage.namespace}/db-url",
        f"├─ ConfigMap app: {how}",
        "└─ Secret db: key password, user into Gadget g, .spec.token",
    ]
    assert not [line for line in running.lines() if line["msg"] == "bug"]
