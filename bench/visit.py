"""`reroll dashboard` as a process, and a browser without a screen that looks at it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp


class Site:
    """`reroll dashboard` as a process, and a browser that it knows."""

    def __init__(self, kubeconfig: Path) -> None:
        self.began = time.perf_counter()
        command = [sys.executable, "-m", "reroll", "dashboard", "--no-browser"]
        self.process = subprocess.Popen(
            [*command, "--kubeconfig", str(kubeconfig), "--controller-namespace", "default"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        found = re.search(r"http://\S+", self.process.stdout.readline())
        if found is None:
            raise RuntimeError("the dashboard printed no address")
        self.entrance = found[0]
        self.base = self.entrance.partition("/enter")[0]

    def memory(self, field: str = "VmRSS") -> float:
        """In MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024

    def processor_time(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


@asynccontextmanager
async def opened(site: Site) -> AsyncIterator[aiohttp.ClientSession]:
    jar = aiohttp.CookieJar(unsafe=True)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(cookie_jar=jar, connector=connector) as browser:
        async with browser.get(site.entrance, allow_redirects=False) as answer:
            answer.raise_for_status()
        yield browser


class Look(NamedTuple):
    status: int
    seconds: float
    size: int
    text: str


async def look(
    browser: aiohttp.ClientSession, site: Site, path: str, *, patient: bool = False
) -> Look:
    """`patient`: as the script of a page asks, until the page is made."""
    since, said = time.perf_counter(), {"Reroll-Patient": "yes"} if patient else {}
    async with browser.get(f"{site.base}{path}", headers=said) as answer:
        text = await answer.text()
    return Look(answer.status, time.perf_counter() - since, len(text.encode()), text)
