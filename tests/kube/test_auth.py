"""From kubeconfig or pod to Connection, as far as it goes without a server."""

import base64
import json
from pathlib import Path

import pytest
from tests.kube.fakes import StillClock

from reroll.kube import auth
from reroll.kube.errors import AuthError, ConfigError
from reroll.kube.plugin import Plugin
from reroll_dev import pki

V1 = "client.authentication.k8s.io/v1"


def kubeconfig(path: Path, *, name="dev", cluster=None, user=None, namespace="", current=True):
    cluster = {"server": "https://k8s.corp:6443", **(cluster or {})}
    context = {"cluster": name, "user": name}
    if namespace:
        context["namespace"] = namespace
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": context}],
    }
    if current:
        document["current-context"] = name
    path.write_text(json.dumps(document))
    return path


def load(*paths, env=None, context=None, **more):
    environment = {"KUBECONFIG": ":".join(map(str, paths)), **(env or {})}
    return auth.load(environment, context=context, clock=StillClock(), **more)


async def headers(connection):
    return dict((await connection.access()).headers)


@pytest.fixture
def config(tmp_path):
    return tmp_path / "config"


# Which file, which context


def test_the_current_context_counts(config):
    connection = load(kubeconfig(config, namespace="shop"))

    assert (connection.route.server, connection.namespace) == ("https://k8s.corp:6443", "shop")


def test_without_a_namespace_it_is_default(config):
    assert load(kubeconfig(config)).namespace == "default"


def test_a_named_context_goes_before_the_current_one(tmp_path):
    one = kubeconfig(tmp_path / "one", name="one")
    two = kubeconfig(tmp_path / "two", name="two", cluster={"server": "https://two"})

    assert load(one, two, context="two").route.server == "https://two"


def test_of_several_files_the_first_that_sets_something_wins(tmp_path):
    first = kubeconfig(tmp_path / "a", cluster={"server": "https://first"}, current=False)
    second = kubeconfig(tmp_path / "b", cluster={"server": "https://second"})

    assert load(first, second).route.server == "https://first"


def test_a_missing_file_among_several_is_passed_over(tmp_path, config):
    assert load(tmp_path / "missing", kubeconfig(config)).route.server == "https://k8s.corp:6443"


def test_a_named_file_goes_before_the_environment(tmp_path, config):
    named = kubeconfig(tmp_path / "named", cluster={"server": "https://named"})

    connection = load(kubeconfig(config), kubeconfig=str(named))

    assert connection.route.server == "https://named"


def test_the_home_folder_is_looked_in_last(tmp_path):
    (tmp_path / ".kube").mkdir()
    kubeconfig(tmp_path / ".kube" / "config")

    assert auth.load({"HOME": str(tmp_path)}).route.server == "https://k8s.corp:6443"


def test_a_path_in_front_of_the_api_is_kept(config):
    connection = load(kubeconfig(config, cluster={"server": "https://rancher/k8s/clusters/c-1/"}))

    assert connection.route.server == "https://rancher/k8s/clusters/c-1"


def test_relative_paths_are_relative_to_their_file(tmp_path):
    folder = tmp_path / "deep"
    folder.mkdir()
    authority = pki.new_authority()
    (folder / "ca.crt").write_bytes(authority.certificate)
    path = kubeconfig(folder / "config", cluster={"certificate-authority": "ca.crt"})

    connection = load(path)

    assert connection._contexts is not None
    assert len(connection._contexts.current().get_ca_certs()) == 1


# What is shown


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({"token": "t-1"}, {"Authorization": "Bearer t-1"}),
        ({"username": "ann", "password": "pw"}, {"Authorization": "Basic YW5uOnB3"}),
        ({"token": "t-1", "username": "ann", "password": "pw"}, {"Authorization": "Bearer t-1"}),
        ({}, {}),
        (
            {"token": "t", "as": "bob", "as-uid": "7", "as-user-extra": {"a/b": ["c"]}},
            {
                "Impersonate-User": "bob",
                "Impersonate-Uid": "7",
                "Impersonate-Extra-a%2Fb": "c",
                "Authorization": "Bearer t",
            },
        ),
    ],
    ids=["a token", "a password", "a token goes before a password", "nothing", "impersonation"],
)
async def test_headers(config, user, expected):
    assert await headers(load(kubeconfig(config, user=user))) == expected


async def test_every_group_that_is_impersonated_is_shown(config):
    user = {"as": "bob", "as-groups": ["one", "two"]}
    access = await load(kubeconfig(config, user=user)).access()

    assert access.headers[1:] == (("Impersonate-Group", "one"), ("Impersonate-Group", "two"))


async def test_somebody_elses_token_goes_out_with_nothing_of_ours(config):
    pair = pki.client_certificate(pki.new_authority(), "admin")
    user = {
        "client-certificate-data": base64.b64encode(pair.certificate).decode(),
        "client-key-data": base64.b64encode(pair.key).decode(),
        "username": "ann",
        "password": "pw",
        "as": "bob",
    }
    theirs = load(kubeconfig(config, user=user)).with_token("t-2")

    assert await headers(theirs) == {"Authorization": "Bearer t-2"}
    assert theirs._contexts is not None
    assert theirs._contexts._tls.certificate is None
    assert theirs._contexts._tls.key is None
    assert "t-2" not in repr(await theirs.access())
    with pytest.raises(ConfigError):
        load(kubeconfig(config, user=user)).with_token("")


async def test_acting_as_somebody_shows_our_token_and_their_name(config):
    ours = load(kubeconfig(config, user={"token": "t-1", "as": "bob", "as-groups": ["one"]}))
    access = await ours.acting_as("alice", ["two", "three"]).access()

    assert access.headers == (
        ("Impersonate-User", "alice"),
        ("Impersonate-Group", "two"),
        ("Impersonate-Group", "three"),
        ("Authorization", "Bearer t-1"),
    )
    with pytest.raises(ConfigError):
        ours.acting_as("", [])


@pytest.mark.parametrize("token", ["0123", "on", "1e5", "~x", "1.10"])
async def test_a_token_that_looks_like_a_number_or_a_word_of_yaml_stays_what_it_is(config, token):
    text = kubeconfig(config, user={"token": "TOKEN"}).read_text().replace('"TOKEN"', token)
    config.write_text(text)

    assert await headers(load(config)) == {"Authorization": f"Bearer {token}"}


async def test_a_token_file_goes_before_a_token(tmp_path, config):
    (tmp_path / "token").write_text("from-file")
    connection = load(kubeconfig(config, user={"token": "t", "tokenFile": "token"}))

    assert await headers(connection) == {"Authorization": "Bearer from-file"}


async def test_the_access_is_the_same_object_while_nothing_changes(config):
    connection = load(kubeconfig(config, user={"token": "t"}))
    first = await connection.access()

    assert await connection.access() is first
    assert await connection.access(rejected=first) is first


async def test_a_new_token_does_not_make_a_new_tls_context(tmp_path, config):
    (tmp_path / "token").write_text("one")
    connection = load(kubeconfig(config, user={"tokenFile": "token"}))
    first = await connection.access()
    (tmp_path / "token").write_text("two")

    second = await connection.access(rejected=first)

    assert second is not first
    assert second.ssl is first.ssl


def test_an_exec_plugin_is_told_about_the_cluster_if_it_wants_to_know(config):
    authority = base64.b64encode(b"CA").decode()
    plugin = {"apiVersion": V1, "command": "x", "provideClusterInfo": True}
    connection = load(
        kubeconfig(config, cluster={"certificate-authority-data": authority}, user={"exec": plugin})
    )

    source = connection._source
    assert isinstance(source, Plugin)
    told = json.loads(source._env["KUBERNETES_EXEC_INFO"])["spec"]["cluster"]
    assert told == {"server": "https://k8s.corp:6443", "certificate-authority-data": authority}


async def test_a_broken_certificate_is_known_when_it_is_first_needed(config):
    junk = base64.b64encode(b"junk").decode()
    connection = load(kubeconfig(config, cluster={"certificate-authority-data": junk}))

    with pytest.raises(AuthError, match="certificate-authority-data holds no PEM certificate"):
        await connection.access()


async def test_a_plain_http_server_has_no_tls(config):
    connection = load(kubeconfig(config, cluster={"server": "http://127.0.0.1:8001"}))

    assert (await connection.access()).ssl is None


# Proxies


def test_the_proxy_of_the_kubeconfig_goes_before_the_environment(config):
    path = kubeconfig(config, cluster={"proxy-url": "http://one:1"})

    assert load(path, env={"HTTPS_PROXY": "http://two:2"}).route.proxy == "http://one:1"


def test_the_environment_names_a_proxy(config):
    env = {"HTTPS_PROXY": "http://two:2"}

    assert load(kubeconfig(config), env=env).route.proxy == "http://two:2"


# In a pod


@pytest.fixture
def pod(tmp_path):
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text("sa-token")
    (folder / "ca.crt").write_bytes(pki.new_authority().certificate)
    (folder / "namespace").write_text("reroll-system\n")
    return folder


def in_pod(folder, host="10.0.0.1", **env):
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "6443", **env}
    return auth.load(environment, service_account=folder)


async def test_a_pod_uses_its_service_account(pod):
    connection = in_pod(pod)

    assert connection.route.server == "https://10.0.0.1:6443"
    assert connection.namespace == "reroll-system"
    assert await headers(connection) == {"Authorization": "Bearer sa-token"}


def test_a_pod_of_a_cluster_with_ipv6(pod):
    assert in_pod(pod, host="fd00::1").route.server == "https://[fd00::1]:6443"


def test_in_a_pod_a_named_kubeconfig_goes_first(pod, config):
    connection = in_pod(pod, KUBECONFIG=str(kubeconfig(config)))

    assert connection.route.server == "https://k8s.corp:6443"


def test_a_pod_without_a_token_is_a_sentence(pod):
    (pod / "token").unlink()

    with pytest.raises(ConfigError, match="token is not there; set automountServiceAccountToken"):
        in_pod(pod)


# Every fault is a sentence


def faulty(config, sentence, **more):
    with pytest.raises(ConfigError) as caught:
        load(kubeconfig(config, **more))
    assert sentence in str(caught.value)


def test_nothing_at_all_is_a_sentence(tmp_path):
    with pytest.raises(ConfigError, match=r"no way to a cluster: there is no .*config, KUBECONFIG"):
        auth.load({"HOME": str(tmp_path)})


def test_a_named_file_that_is_missing(tmp_path):
    with pytest.raises(ConfigError, match="nope cannot be read: No such file or directory"):
        auth.load({}, kubeconfig=str(tmp_path / "nope"))


def test_a_list_of_files_of_which_none_is_there(tmp_path):
    with pytest.raises(ConfigError, match=r"KUBECONFIG names .*nope, but no such file exists"):
        load(tmp_path / "nope")


def test_no_such_context_names_those_there_are(tmp_path):
    one, two = (kubeconfig(tmp_path / name, name=name) for name in ("one", "two"))

    with pytest.raises(ConfigError, match=r"context 'three' is not in .*; there are: one, two"):
        load(one, two, context="three")


def test_no_current_context(config):
    faulty(
        config, "sets no current-context; choose one with --context (there are: dev)", current=False
    )


def test_a_context_in_a_pod_needs_a_kubeconfig(pod, tmp_path):
    env = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOME": str(tmp_path)}

    with pytest.raises(ConfigError, match="name a kubeconfig with --kubeconfig"):
        auth.load(env, context="dev", service_account=pod)


@pytest.mark.parametrize("missing", ["cluster", "user"])
def test_a_context_that_names_what_is_not_there(config, missing):
    document = json.loads(kubeconfig(config).read_text())
    document["contexts"][0]["context"][missing] = "other"
    config.write_text(json.dumps(document))

    with pytest.raises(ConfigError, match=f"names {missing} 'other', which is not there; .*: dev"):
        load(config)


def test_broken_yaml_names_file_and_line_and_shows_nothing_of_it(config):
    config.write_text("apiVersion: v1\nusers:\n- name: ann\n  user: {token: s3cr3t\n")

    with pytest.raises(ConfigError, match=f"kubeconfig {config}, line 5: broken YAML") as caught:
        load(config)
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("content", [b"\x00\x01", b"\xff\xfe\xff", b"users: 5", b"[]", b"5"])
def test_what_is_no_kubeconfig(config, content):
    config.write_bytes(content)

    with pytest.raises(ConfigError, match=f"kubeconfig {config}"):
        load(config)


def test_an_empty_kubeconfig_has_no_context(config):
    config.write_text("apiVersion: v1\nkind: Config\nclusters: null\nusers: null\ncontexts: null\n")

    with pytest.raises(ConfigError, match=r"sets no current-context; .* \(there are: none\)"):
        load(config)


def test_a_field_of_the_wrong_type_is_named_and_its_value_is_not(config):
    faulty(
        config, "Expected `str`, got `array` - at `$.users[0].user.token`", user={"token": ["s"]}
    )


def test_no_server(config):
    faulty(config, "cluster 'dev' in", cluster={"server": ""})


def test_a_server_that_is_no_url(config):
    faulty(config, "is no URL; write it as https://host:port", cluster={"server": "k8s.corp:6443"})


@pytest.mark.parametrize(
    ("there", "missing"),
    [("client-certificate", "client-key"), ("client-key", "client-certificate")],
)
def test_half_of_a_client_certificate(config, there, missing):
    faulty(config, f"has a {there} but no {missing}", user={there: "x"})


def test_an_authority_and_insecure(config):
    cluster = {"certificate-authority": "x", "insecure-skip-tls-verify": True}

    faulty(config, "has both a certificate-authority and insecure-skip-tls-verify", cluster=cluster)


def test_data_that_is_not_base64(config):
    faulty(config, "client-key-data in the kubeconfig is not base64", user={"client-key-data": "x"})


def test_an_auth_provider_of_old(config):
    faulty(config, "uses auth-provider", user={"auth-provider": {"name": "gcp"}})


def test_a_proxy_that_cannot_be_used(config):
    faulty(config, "is a socks5 proxy", cluster={"proxy-url": "socks5://x:1"})
