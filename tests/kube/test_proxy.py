import pytest

from reroll.kube import proxy
from reroll.kube.errors import ConfigError

PROXY = "http://proxy.corp:3128"


@pytest.mark.parametrize(
    ("server", "env", "expected"),
    [
        ("https://k8s.corp:6443", {"HTTPS_PROXY": PROXY}, PROXY),
        ("https://k8s.corp:6443", {"https_proxy": PROXY}, PROXY),
        ("https://k8s.corp:6443", {"HTTPS_PROXY": "proxy.corp:3128"}, PROXY),
        ("https://k8s.corp:6443", {"HTTP_PROXY": PROXY}, None),
        ("http://k8s.corp:8080", {"HTTP_PROXY": PROXY}, PROXY),
        ("https://k8s.corp:6443", {}, None),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": PROXY}, None),
        ("https://localhost:6443", {"HTTPS_PROXY": PROXY}, None),
        ("https://[::1]:6443", {"HTTPS_PROXY": PROXY}, None),
    ],
    ids=[
        "an https server goes through HTTPS_PROXY",
        "lower case counts too",
        "a proxy without a scheme is an http proxy",
        "HTTP_PROXY is not for https",
        "an http server goes through HTTP_PROXY",
        "no proxy is no proxy",
        "loopback is never proxied",
        "localhost is never proxied",
        "the other loopback is never proxied either",
    ],
)
def test_the_environment_names_the_proxy(server, env, expected):
    assert proxy.from_environment(server, env) == expected


@pytest.mark.parametrize(
    ("host", "rule", "excepted"),
    [
        ("k8s.corp", "*", True),
        ("k8s.corp", "k8s.corp", True),
        ("k8s.corp", "K8S.CORP", True),
        ("k8s.corp", "corp", True),
        ("k8s.corp", ".corp", True),
        ("k8s.corp", "*.corp", True),
        ("notcorp", "corp", False),
        ("k8s.corp", "other.corp, k8s.corp", True),
        ("k8s.corp", "k8s.corp:443", True),
        ("k8s.corp", "k8s.corp:6443", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "192.168.0.0/16", False),
        ("10.1.2.3", "1.2.3", False),
        ("10.1.2.3", "10.0.0.0/nonsense", False),
        ("[fd00::1]", "fd00::/8", True),
        ("[fd00::1]", "[fd00::1]:443", True),
        ("k8s.corp", "", False),
    ],
)
def test_no_proxy_excepts(host, rule, excepted):
    env = {"HTTPS_PROXY": PROXY, "NO_PROXY": rule}

    assert (proxy.from_environment(f"https://{host}", env) is None) == excepted


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("socks5://proxy:1080", "is a socks5 proxy, which reroll cannot use"),
        ("http://", "names no host"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_a_sentence(url, sentence):
    with pytest.raises(ConfigError, match=f"proxy-url in x {sentence}"):
        proxy.checked(url, "proxy-url in x")
