"""The application: routes to pages, documents, actions and the stream of news.

What goes wrong while a page is made becomes a page with a sentence, or a document with one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from reroll.answers.errors import AnswerError
from reroll.core.model.key import Key
from reroll.dashboard import streams
from reroll.dashboard.actions import ACTIONS, act
from reroll.dashboard.board import PATIENCE
from reroll.dashboard.desk import Desk
from reroll.dashboard.doors.door import Call, Door, cookies, is_own_path
from reroll.dashboard.first_sight import Sights
from reroll.dashboard.overview import Overview
from reroll.dashboard.paging import Query
from reroll.dashboard.people import OURSELVES
from reroll.dashboard.rendering import Frame, Renderer
from reroll.dashboard.schema import Document
from reroll.dashboard.seats import Seat, Seats
from reroll.dashboard.security import Security
from reroll.dashboard.sessions import Notice, Sessions
from reroll.dashboard.site import NAV, PAGES, Made, Page, Wanted
from reroll.kube.errors import ApiError, ConfigError, Unauthorized

STATIC = Path(__file__).parent / "static"
FILES = {
    "style.css": "text/css",
    "page.js": "text/javascript",
    "graph.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
AT_ONCE = 0.5
"""Seconds after which somebody who opens a page is told that it is being made."""
PATIENT = "reroll-patient"
"""A header: whoever asks shows something already, and waits until the page is made."""
LISTING = "the cluster is being listed, which takes a moment; ask again"
ENDED = "the dashboard was ended"
THEMES = ("", "light", "dark")
THEME = "reroll-theme"


class About(NamedTuple):
    """What is so of this process."""

    version: str
    cluster: str
    """What the user calls the cluster."""
    read_only: bool = False
    why_read_only: str = "it was started with --read-only"


class Problem(Document):
    """Served in the place of a document that cannot be made."""

    problem: str


class _ProblemError(Exception):
    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class _UnreadyError(_ProblemError):
    """There is nothing wrong: it takes longer than somebody waited."""


Handler = Callable[[Request], Awaitable[Response]]


class Dashboard:
    """The whole site: `served` is what listens, and the requests that pass it come to `app`."""

    def __init__(self, door: Door, sessions: Sessions, seats: Seats, about: About) -> None:
        self._door, self._sessions, self._seats, self._about = door, sessions, seats, about
        self._renderer = Renderer()
        self._making: set[asyncio.Task[Any]] = set()
        """Requests that wait for the cluster."""
        self._over = asyncio.Event()
        routes = [
            *(Route(page.path, self._html(page), name=page.name) for page in PAGES),
            *(Route(page.api, self._json(page)) for page in PAGES),
            Route("/do/{action}", self._act, methods=["POST"]),
            Route("/theme", self._theme, methods=["POST"]),
            Route("/events", self._events),
            Route("/version", self._version),
            Route("/static/{file}", _static),
        ]
        self.app = Starlette(routes=routes, exception_handlers={404: self._lost})
        self.served = Security(self.app, door, sessions, seats)

    async def begin(self) -> None:
        """Look before somebody asks: who starts it on their own machine does so to look."""
        await self._seats.of(OURSELVES)

    def end(self) -> None:
        """Streams end, and whoever waits for a page waits no more, so that the process can end."""
        self._over.set()
        for one in self._making:
            one.cancel()
        self._seats.end()

    # Pages

    def _html(self, page: Page) -> Handler:
        async def answer(request: Request) -> Response:
            is_patient = PATIENT in request.headers
            try:
                async with asyncio.timeout(None if is_patient or page.is_early else AT_ONCE):
                    patience = PATIENCE if is_patient else AT_ONCE
                    made = await self._make(page, request, patience, whole=not page.is_early)
            except (TimeoutError, _UnreadyError):
                return self._moment(page, request)
            except _ProblemError as error:
                return self._problem(request, error.status, error.sentence)
            except Unauthorized as error:
                return self._refused(request) or self._problem(request, 502, str(error))
            frame = self._frame(request)
            text = self._renderer.page(
                f"{page.name}.html", frame, page=page, doc=made.document, **made.words
            )
            return HTMLResponse(text)

        return answer

    def _json(self, page: Page) -> Handler:
        async def answer(request: Request) -> Response:
            status, document = 200, None
            try:
                document = (await self._make(page, request, PATIENCE)).document
            except _ProblemError as error:
                status, document = error.status, Problem(problem=error.sentence)
            except Unauthorized as error:
                if answer := self._refused(request):
                    return answer
                status, document = 502, Problem(problem=str(error))
            later = {"Retry-After": "2"} if status == 503 else None
            body = msgspec.json.encode(document)
            return Response(body, status, later, media_type="application/json")

        return answer

    def _refused(self, request: Request) -> Response | None:
        """The API server knows this user no more."""
        call: Call = request.state.call
        return self._door.refused(call, request.state.session)

    async def _make(
        self, page: Page, request: Request, patience: float, *, whole: bool = True
    ) -> Made:
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        if self._over.is_set():
            raise _ProblemError(503, ENDED)
        self._making.add(task)
        try:
            return await self._made(page, request, patience, whole=whole)
        except asyncio.CancelledError:
            if not self._over.is_set():
                raise
            task.uncancel()
            raise _ProblemError(503, ENDED) from None
        finally:
            self._making.discard(task)

    async def _made(self, page: Page, request: Request, patience: float, *, whole: bool) -> Made:
        desk = _seat(request).desk
        try:
            seen = await desk.overview(patience, whole=whole) or self._unseen(desk, whole=whole)
            path = request.path_params
            key = Key(path.get("kind", ""), path.get("namespace", ""), path.get("name", ""))
            wanted = Wanted(desk, seen, Query(request.query_params), key)
            made = await _seat(request).shelf.made(page, wanted)
        except TimeoutError:
            raise _ProblemError(504, "the cluster takes too long to answer; try again") from None
        except Unauthorized:
            raise
        except (ApiError, AnswerError, ConfigError) as error:
            raise _ProblemError(502, str(error)) from None
        if made.document is None:
            what = "no workload uses it" if page.name == "source" else "it is not there"
            raise _ProblemError(404, f"There is nothing to show of {key}: {what}.")
        return made

    def _unseen(self, desk: Desk, *, whole: bool) -> Overview:
        """What is known of a cluster that has not answered yet."""
        if problem := desk.board.problem:
            raise _ProblemError(503, problem)
        if whole:
            raise _UnreadyError(503, LISTING)
        return Sights().overview(desk.clock.now())

    def _frame(self, request: Request, *, told: bool = True) -> Frame:
        """Without `told`, what came of an action is kept for the page that follows."""
        session, seat = request.state.session, _seat(request)
        board = seat.desk.board
        seen = board.current or board.first_sight
        theme = cookies(request.headers).get(THEME, "")
        return Frame(
            now=seat.desk.clock.now(),
            path=request.url.path,
            query=dict(request.query_params),
            version=self._about.version,
            cluster=self._about.cluster,
            nav=NAV,
            theme=theme if theme in THEMES else "",
            form_token=self._sessions.form_token(session),
            notices=tuple(self._sessions.notices(session)) if told else (),
            problem=board.problem,
            namespaces=tuple(seen.namespaces) if seen else (),
            read_only=self._about.read_only,
            who=seat.who.name,
            can_leave=self._door.can_leave,
        )

    def _moment(self, page: Page, request: Request) -> Response:
        """In the place of a page that is being made; its script, or a reload, waits for it."""
        is_listed = _seat(request).desk.board.current is not None
        frame = self._frame(request, told=False)
        text = self._renderer.page("moment.html", frame, page=page, is_listed=is_listed)
        return HTMLResponse(text, 202, {"Retry-After": "2"})

    def _problem(self, request: Request, status: int, sentence: str) -> Response:
        text = self._renderer.page(
            "problem.html", self._frame(request), sentence=sentence, status=status
        )
        return HTMLResponse(text, status, {"Retry-After": "2"} if status == 503 else None)

    async def _lost(self, request: Request, _: Exception) -> Response:
        if not hasattr(request.state, "seat") or request.url.path.startswith("/api/"):
            return PlainTextResponse("There is no such page.", 404)
        return self._problem(request, 404, "There is no such page.")

    # What a person does

    async def _act(self, request: Request) -> Response:
        action, form, session = request.path_params["action"], _form(request), request.state.session
        back = form.get("back", "/")
        desk = _seat(request).desk
        seen = await desk.overview(PATIENCE)
        if action not in ACTIONS or seen is None:
            return self._problem(request, 404, "There is no such action.")
        if self._about.read_only:
            notice = Notice(f"This dashboard only shows: {self._about.why_read_only}.", True)
        else:
            try:
                notice = await act(desk, seen, action, form)
            except TimeoutError:
                notice = Notice("The cluster takes too long to answer; look what was done.", True)
        self._sessions.tell(session, notice)
        return RedirectResponse(back if is_own_path(back) else "/", 303)

    async def _theme(self, request: Request) -> Response:
        form = _form(request)
        back, theme = form.get("back", "/"), form.get("theme", "")
        answer = RedirectResponse(back if is_own_path(back) else "/", 303)
        answer.set_cookie(
            THEME, theme if theme in THEMES else "", samesite="strict", httponly=True, path="/"
        )
        return answer

    # News

    async def _version(self, request: Request) -> Response:
        return JSONResponse({"version": _seat(request).news.ask()})

    async def _events(self, request: Request) -> Response:
        news = _seat(request).news
        if not news.has_room or self._seats.streams >= streams.MOST_IN_ALL:
            return PlainTextResponse("Too many tabs are open; this one is not live.", 503)
        return StreamingResponse(news.stream(), headers=streams.HEADERS)


def _seat(request: Request) -> Seat:
    seat: Seat = request.state.seat
    return seat


def _form(request: Request) -> dict[str, str]:
    form: dict[str, str] = request.state.form
    return form


async def _static(request: Request) -> Response:
    kind = FILES.get(request.path_params["file"])
    if kind is None:
        return PlainTextResponse("There is no such file.", 404)
    return FileResponse(STATIC / request.path_params["file"], media_type=kind)
