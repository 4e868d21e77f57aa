"""Tells one receiver: a queue of incidents, and a worker that compares them with what was told.

Nothing here can delay a roll: reports only put ids into the queue. What does not get through is
tried again with a growing delay for an hour, then dropped and counted.
"""

from collections.abc import Awaitable, Callable, Iterable

from reroll.clock import Clock
from reroll.controller.exposition import Family
from reroll.controller.logs import Log
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.controller.worker import Worker
from reroll.core.model.key import Key
from reroll.core.policy.notice import Notice
from reroll.core.tables.news import News
from reroll.features.notices.bulletin import Bulletin, State, bulletin_of
from reroll.features.notices.incidents import Delivery, Incident, Incidents, Topic
from reroll.features.notices.receivers.table import resends, updates
from reroll.features.notices.sending import NotSent

log = Log("reroll")
FIRST_RETRY, LONGEST_RETRY = 1.0, 300.0
GIVE_UP = 3600.0
"""Seconds after the first try that failed, after which nobody tries any more."""
UNWRITTEN = 30.0
"""Seconds until it is tried again to write down what could not be, and to send what needs that."""
_UNSAVED = ""
"""In the queue, among the ids of incidents: what was told is not written down."""
RESULTS = SENT, FAILED, DROPPED = "sent", "failed", "dropped"
Send = Callable[[Notice, Bulletin, str], Awaitable[str]]
Save = Callable[[str, Iterable[Delivery]], Awaitable[bool]]


class Courier:
    def __init__(self, notice: Notice, clock: Clock, send: Send, save: Save, count: Family) -> None:
        self.notice, self._clock, self._send, self._save_to = notice, clock, send, save
        self._count = count
        self.incidents = Incidents()
        self.queue: Queue[str] = Queue(clock)
        self._worker = Worker(self.queue, self._tell, Backoff(clock), noun="notice")
        self._backoff = Backoff(clock, FIRST_RETRY, LONGEST_RETRY)
        self._failing: dict[str, float] = {}
        """Since when each has not got through."""
        self._quiet_until = 0.0
        """The receiver asked not to be told anything before."""
        self._is_swept = False

    async def run(self) -> None:
        await self._worker.run()

    # What there is to tell

    def recall(self, known: Iterable[Delivery]) -> None:
        """What was told before this process led."""
        self.incidents.recall(known)

    def swept(self) -> None:
        """Every workload was looked at: a problem that none has is over."""
        self._is_swept = True
        for incident_id in self.incidents.over():
            self.queue.add(incident_id)

    def problem(self, key: Key, topic: Topic, message: str) -> None:
        if topic.news in self.notice.about:
            self._touched(self.incidents.problem(key, topic, message, self._clock.now()))
        else:
            self.leave(key, topic.news)

    def leave(self, key: Key, moved_to: News | None = None) -> None:
        self._touched(self.incidents.leave(key, moved_to))

    def turn_to_held(self, key: Key) -> None:
        """It is held, and has no other problem; whether that is one, time tells."""
        if self.incidents.problem_of(key) not in {None, News.HELD}:
            self.leave(key, News.HELD)

    def done(self, key: Key, topic: Topic, message: str) -> None:
        if topic.news in self.notice.about:
            self._touched(self.incidents.done(key, topic, message, self._clock.now()))

    def _touched(self, ids: Iterable[str]) -> None:
        for incident_id in ids:
            self.queue.add(incident_id, self.notice.gather.total_seconds())

    # Telling

    async def _tell(self, incident_id: str) -> float | None:
        if incident_id == _UNSAVED:
            await self._save()
        incident = self.incidents.open.get(incident_id)
        if incident is None:
            self._settle(incident_id)
            return None
        if (wait := self._quiet_until - self._clock.monotonic()) > 0:
            return wait
        if not incident.topic.news.is_problem:
            return await self._inform(incident)
        if incident.is_open:
            return await self._tell_problem(incident)
        return await self._tell_end(incident) if self._is_swept else None

    async def _tell_problem(self, incident: Incident) -> float | None:
        told, resend = incident.delivery, resends(self.notice)
        if told is None:
            told = self._begin(incident)
            await self._save()
        is_same = not updates(self.notice) or told.count == len(incident.members)
        if told.dropped or (told.sent and resend is None and is_same):
            return None
        message = self._message(incident, State.OPEN)
        was_sent, problem = told.sent, await self._try(incident, message)
        if problem is not None:
            return self._failed(incident, problem)
        told.count = message.count
        if not was_sent or told.ref:
            await self._save()
        return resend

    async def _tell_end(self, incident: Incident) -> float | None:
        """Where no try was made nobody knows of it; else it may have got through."""
        incident_id, told = incident.topic.id, incident.delivery
        if told is not None and not told.dropped:
            problem = await self._try(incident, self._message(incident, State.OVER))
            if problem is not None:
                return self._failed(incident, problem)
        self._settle(incident_id)
        if incident.is_open:  # Again, since that was sent: it is another one.
            incident.delivery, incident.since = None, self._clock.now()
            return self.notice.gather.total_seconds()
        self.incidents.forget(incident_id)
        if told is not None:
            await self._save()
        return None

    async def _inform(self, incident: Incident) -> float | None:
        """Once; what may have got through is not sent again."""
        told = incident.delivery
        if told is None:
            told = self._begin(incident)
            if not await self._save():
                incident.delivery = None
                return UNWRITTEN
        elif told.dropped or not self._may_inform_again(incident, told):
            return None
        message = self._message(incident, State.OPEN)
        problem = await self._try(incident, message)
        if problem is None:
            told.count = message.count
            return None
        told.dropped = problem.maybe
        return None if problem.maybe else self._failed(incident, problem)

    def _may_inform_again(self, incident: Incident, told: Delivery) -> bool:
        if told.sent:
            return bool(told.ref) and incident.count > told.count
        return incident.topic.id in self._failing  # A try of this process was refused.

    def _begin(self, incident: Incident) -> Delivery:
        """It is about to be told, which is written down first."""
        topic = incident.topic
        incident.delivery = Delivery(topic.news.word, topic.about, incident.since, topic.change)
        return incident.delivery

    async def _try(self, incident: Incident, message: Bulletin) -> NotSent | None:
        told = incident.delivery
        try:
            ref = await self._send(self.notice, message, told.ref if told else "")
        except NotSent as problem:
            self._count.inc(self.notice.name, FAILED)
            return problem
        self._count.inc(self.notice.name, SENT)
        self._settle(incident.topic.id)
        if told is not None:
            told.sent, told.ref = True, ref or told.ref
        return None

    def _failed(self, incident: Incident, problem: NotSent) -> float | None:
        incident_id, now = incident.topic.id, self._clock.monotonic()
        if incident_id not in self._failing:
            self._failing[incident_id] = now
            log.warning("notice not sent", notice=self.notice.name, problem=str(problem))
        if now - self._failing[incident_id] >= GIVE_UP:
            return self._dropped(incident, problem)
        if problem.retry_after:
            self._quiet_until = now + problem.retry_after
        return self._backoff.failed(incident_id, problem.retry_after)

    def _settle(self, incident_id: str) -> None:
        """Nothing of it is on its way."""
        self._failing.pop(incident_id, None)
        self._backoff.succeeded(incident_id)

    def _dropped(self, incident: Incident, problem: NotSent) -> float | None:
        self._count.inc(self.notice.name, DROPPED)
        log.error("notice dropped", notice=self.notice.name, problem=str(problem))
        self._settle(incident.topic.id)
        if resends(self.notice) is not None and incident.is_open:
            return LONGEST_RETRY  # It is told again and again anyway.
        if incident.delivery is not None:
            incident.delivery.dropped = True
        return 0.0  # Of one that is over, nothing is left to do but to forget it.

    def _message(self, incident: Incident, state: State) -> Bulletin:
        notice, now = self.notice, self._clock.now()
        return bulletin_of(
            incident, state, now, notice=notice.name, link=notice.link, cluster=notice.cluster
        )

    async def _save(self) -> bool:
        is_saved = await self._save_to(self.notice.name, self.incidents.entries())
        if not is_saved:
            self.queue.add(_UNSAVED, UNWRITTEN)
        return is_saved
