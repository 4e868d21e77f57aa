"""`reroll dashboard` as a process, and whoever looks at it: a program, or a browser."""

import asyncio
import html
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
import uvicorn
from tests.support.chromium import find as find_chromium

from reroll_dev.errors import DevClusterError

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


class DashboardProcess:
    """The real program, with a kubeconfig; what it prints is read until it says its address."""

    def __init__(self, kubeconfig: Path, namespace: str, *flags: str, only: bool = True) -> None:
        """`only`: it looks at this namespace alone, which is that of the controller too."""
        where = (*(("-n", namespace) if only else ()), "--controller-namespace", namespace)
        self._command = (
            *(sys.executable, "-m", "reroll", "dashboard", "--no-browser"),
            *("--kubeconfig", str(kubeconfig), *where, *flags),
        )
        self.process: subprocess.Popen[str] | None = None
        self.url = self.said = ""
        self.clients: list[httpx.Client] = []
        """Of those who look; closed when it ends."""
        self.complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115  until it ends

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=self.complaints, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"it printed no address: {line!r}"
        self.url, self.said = found[0], line
        return self

    def __exit__(self, *_: object) -> None:
        for one in self.clients:
            one.close()
        self.stop()

    @property
    def base(self) -> str:
        return self.url.partition("/enter")[0]

    def stop(self) -> int:
        """As a service manager does it; the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(20)
        if self.process.stdout and not self.process.stdout.closed:
            self.said += self.process.stdout.read()
            self.process.stdout.close()
            self.complaints.seek(0)
            self.said += self.complaints.read()
            self.complaints.close()
        return code


class Visitor:
    """A browser without a screen: a session, and forms as pages have them."""

    def __init__(self, dashboard: DashboardProcess) -> None:
        patient = {"Reroll-Patient": "yes"}
        self.client = httpx.Client(
            base_url=dashboard.base, timeout=60, trust_env=False, headers=patient
        )
        dashboard.clients.append(self.client)
        self.entered = self.client.get(dashboard.url)

    def sign_in(self, token: str) -> httpx.Response:
        """As the page for it does; what follows."""
        form = re.search(r'name="form_token" value="(\w+)"', self.client.get("/sign-in").text)
        assert form, "there is no form"
        return self.client.post(
            "/sign-in",
            data={"form_token": form[1], "token": token},
            headers={"Origin": str(self.client.base_url).rstrip("/")},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def page(self, path: str) -> str:
        answer = self.client.get(path)
        assert answer.status_code == 200, (path, answer.status_code, answer.text[:500])
        return answer.text

    def document(self, path: str) -> Any:
        answer = self.client.get(f"/api/v1{path}")
        assert answer.status_code == 200, (path, answer.status_code, answer.text[:500])
        return answer.json()

    def send(self, page: str, action: str, **fields: str) -> str:
        """Fill in the form of a page for this action; the page that follows."""
        text = self.page(page)
        found = re.search(rf'<form[^>]+action="{action}">(.*?)</form>', text, re.DOTALL)
        assert found, f"{page} has no form for {action}"
        hidden = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', found[1])
        data = {name: html.unescape(value) for name, value in hidden} | fields
        headers = {"Origin": str(self.client.base_url).rstrip("/")}
        answer = self.client.post(action, data=data, headers=headers, follow_redirects=True)
        assert answer.status_code == 200, answer.text
        return html.unescape(answer.text)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser that Playwright drives; without it nothing is tested, and that is a failure."""
    from playwright.sync_api import sync_playwright

    try:
        program = find_chromium()
    except DevClusterError as error:
        pytest.fail(f"there is no browser: {error}", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program.path, env=dict(program.env), args=[*FLAGS]
        )
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """A page, and what its console said."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.page.on("console", lambda one: self.said.append(f"{one.type}: {one.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.url = url.partition("/enter")[0]
        self.page.goto(url)

    def open(self, path: str) -> None:
        """And wait until the page is made."""
        self.page.goto(self.url + path)
        self.page.locator("[data-moment]").wait_for(state="detached", timeout=60_000)

    @property
    def faults(self) -> list[str]:
        """A page that is not there is no fault of the script.

        Neither is a remark of the browser, that somebody was faster than `autofocus`.
        """
        known = ("404", "503", "info: Autofocus")
        return [one for one in self.said if not any(word in one for word in known)]

    def close(self) -> None:
        self.context.close()

    def action(self, name: str) -> Any:
        """Where it can be done on this page."""
        return self.page.locator(f'details.action:has(form[action="/do/{name}"])')

    def press(self, action: str, **fields: str) -> str:
        """Open it, read what will happen, fill it in, and do it; what the page says then."""
        form = self.action(action).first
        form.locator("summary").click()
        assert form.locator("p").inner_text(), "it says what will happen"
        for name, text in fields.items():
            form.locator(f'input[name="{name}"]').fill(text)
        form.get_by_role("button").click()
        said = self.page.locator(".notices .notice").first
        said.wait_for()
        return str(said.inner_text())


@contextmanager
def served(make: Callable[[int], Any], **more: Any) -> Iterator[str]:
    """An application on a port of this machine, in a thread; `make(port)` makes it in its loop."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    servers: list[uvicorn.Server] = []
    ready = threading.Event()

    async def run() -> None:
        async with make(port) as app:
            options = {
                "lifespan": "off",
                "log_config": None,
                "timeout_graceful_shutdown": 1,
                **more,
            }
            servers.append(uvicorn.Server(uvicorn.Config(app, **options)))
            ready.set()
            await servers[0].serve([listening])

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert ready.wait(20)
        yield f"http://127.0.0.1:{port}"
    finally:
        servers[0].should_exit = True
        thread.join(20)
        listening.close()
