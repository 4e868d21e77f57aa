"""The web server that tests and the demo run in real pods, as a process."""

import os
import re
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support import session
from tests.support.layouts import Layout

from reroll_dev.images.made import made

pytestmark = pytest.mark.cluster  # where Go programs are built


class Server:
    def __init__(self, program: Path, folder: Path, **settings: str) -> None:
        told = {"WEB_LISTEN": "127.0.0.1:0", "WEB_ROOT": str(folder), "WEB_DRAIN": "0s", **settings}
        self.process = subprocess.Popen([program], env=told, stdout=subprocess.PIPE, text=True)
        self.first = self.line()
        self.address = re.search(r"address=(\S+)", self.line())[1]

    def line(self) -> str:
        return self.process.stdout.readline().rstrip()

    def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        request = urllib.request.Request(f"http://{self.address}{path}", method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.process.stdout.read()
        return self.process.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As a kubelet writes a volume of a ConfigMap."""
    content = tmp_path / "www" / "..2026"
    content.mkdir(parents=True)
    (content / "index.html").write_text("Hello world")
    (tmp_path / "www" / "..data").symlink_to("..2026")
    (tmp_path / "www" / "index.html").symlink_to("..data/index.html")
    return tmp_path / "www"


@pytest.fixture
def serve(web: Path, folder: Path) -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def start(**settings: str) -> Server:
        started.append(Server(web, folder, **settings))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.stdout.close()
        one.process.wait()


def run(web: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    command = [web, *arguments]
    return subprocess.run(command, env=settings, text=True, capture_output=True, check=False)


def test_it_serves_its_folder_and_what_its_process_sees(
    serve: Callable[..., Server], folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "live").write_text("before")
    server = serve(COLOUR="blue", EMPTY="")

    assert server.get("/") == server.get("/index.html") == (200, "Hello world")
    assert server.get("/env/COLOUR") == (200, "blue")
    assert server.get("/env/EMPTY") == (200, "")
    assert server.get("/env/OTHER")[0] == 404
    assert server.get("/healthz") == (200, "ok\n")
    assert server.get(f"/file?path={tmp_path}/live") == (200, "before")
    (tmp_path / "live").write_text("after")
    assert server.get(f"/file?path={tmp_path}/live") == (200, "after")
    assert server.get(f"/file?path={tmp_path}/none")[0] == 404
    for path in ("/none", "/..data/index.html", "/..2026/index.html"):
        assert server.get(path)[0] == 404


def test_it_shows_a_change_of_its_folder_when_it_is_told_to_reload(
    serve: Callable[..., Server], folder: Path
) -> None:
    server = serve()
    (folder / "..2026" / "index.html").write_text("updated")

    assert server.get("/") == (200, "Hello world")
    assert server.get("/-/reloads") == (200, "0\n")
    assert server.get("/-/reload")[0] == 404, "a reload is no page to look at"
    assert server.get("/-/reload", "POST") == (200, "1\n")
    assert server.get("/") == (200, "updated")
    assert server.get("/-/reloads") == (200, "1\n")


def test_it_logs_what_it_was_asked_to_show(serve: Callable[..., Server], folder: Path) -> None:
    page = folder / "index.html"

    server = serve(COLOUR="light blue", WEB_SHOW=f"COLOUR, OTHER,{page},/none")

    assert (
        server.first
        == f'started COLOUR="light blue" OTHER=missing {page}="Hello world" /none=missing'
    )


def test_it_goes_on_serving_after_it_was_asked_to_end(serve: Callable[..., Server]) -> None:
    server = serve(WEB_DRAIN="1h")
    server.process.send_signal(signal.SIGTERM)

    assert server.line() == "draining signal=terminated for=1h0m0s"
    assert server.get("/") == (200, "Hello world")


def test_it_ends_well_when_it_has_drained(serve: Callable[..., Server]) -> None:
    assert serve().end() == 0


@pytest.mark.parametrize("mode", ["serve", "once"])
@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("COLOUR=^green$", 'web: COLOUR is "blue", which does not match ^green$: refused\n'),
        ("OTHER=.", "web: OTHER is missing, which does not match .: refused\n"),
        ("/none=.", "web: /none is missing, which does not match .: refused\n"),
    ],
)
def test_it_refuses_a_configuration_with_exit_code_3(
    web: Path, mode: str, rule: str, said: str
) -> None:
    done = run(web, mode, COLOUR="blue", WEB_REQUIRE=rule)

    assert (done.returncode, done.stderr, done.stdout) == (3, said, "")


def test_it_shows_once_what_it_sees_and_ends(web: Path, folder: Path) -> None:
    page = folder / "index.html"

    done = run(web, "once", COLOUR="blue", WEB_SHOW="COLOUR", WEB_REQUIRE=f"{page}=^Hello")

    assert (done.returncode, done.stdout) == (0, 'once COLOUR="blue"\n')


def test_what_it_does_not_know_is_refused(web: Path) -> None:
    assert run(web, "sing").returncode == 2
    assert run(web, WEB_DRAIN="soon").returncode == 1
    assert "write name=regexp" in run(web, WEB_REQUIRE="COLOUR").stderr


def test_a_pause_waits_for_a_signal(web: Path) -> None:
    with subprocess.Popen([web, "pause"], env={}, stdout=subprocess.PIPE, text=True) as waiting:
        assert waiting.stdout.readline() == "pausing\n"
        assert waiting.poll() is None
        waiting.terminate()
        assert waiting.wait() == 0


def test_its_images_hold_the_program_and_little_else(web: Path) -> None:
    for name, entrypoint in (("web", ["/web"]), ("pause", ["/web", "pause"])):
        layout = Layout(made(name, env=os.environ, progress=session.quiet()))

        assert layout.files().keys() == {"tmp", "web"}
        assert layout.files()["web"].content == web.read_bytes()
        assert layout.files()["web"].mode == 0o755
        assert layout.config["config"]["Entrypoint"] == entrypoint
        assert layout.config["config"]["User"] == "65532:65532"
        full = layout.descriptor["annotations"]["io.containerd.image.name"]
        assert full == f"localhost/{name}:dev"
