"""What pages ask of one cluster, with the rights of whoever started the dashboard.

Every method is an answer of a command, or one of its writes. Nothing is kept here: `cache` keeps
answers, and decides how often the cluster is asked.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from reroll.answers.audit.gather import audit
from reroll.answers.audit.records import with_records
from reroll.answers.audit.report import SHOWN, pod_facts
from reroll.answers.doctor.findings import document as findings_document
from reroll.answers.doctor.gather import Examination
from reroll.answers.documents import moment, plain
from reroll.answers.explain.document import facts as explained_facts
from reroll.answers.explain.gather import explained
from reroll.answers.history import gather_revisions, revisions
from reroll.answers.history.choice import before_this, choose
from reroll.answers.history.gather import gather as past_of
from reroll.answers.history.gather import situations_of, subject
from reroll.answers.history.history import Subject
from reroll.answers.history.history import facts_of as past_facts
from reroll.answers.migration.survey import survey
from reroll.core.dialects.annotations import ANNOTATIONS
from reroll.core.model.approval import Ruling
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.model.timing import Hold
from reroll.core.observe.provenance import Managed, Stub, Writes, annotation_writer, writes
from reroll.core.tables.annotations import HOLD, URGENT
from reroll.core.tables.kinds import Kind
from reroll.core.tables.rights import Feature
from reroll.core.tables.source_kinds import CONFIGS
from reroll.dashboard.board import Saw
from reroll.dashboard.first_sight import MANY, Sights
from reroll.dashboard.memory import give_back
from reroll.dashboard.overview import Facts, Overview, overview
from reroll.dashboard.standpoint import Standpoint
from reroll.engine.approval_guard import is_guarded
from reroll.engine.circumstances import judged
from reroll.engine.earlier import Earlier
from reroll.engine.listing import Listing, Seen, unseen
from reroll.features.checkup.access import Question, ask
from reroll.kube import resources, wire
from reroll.kube.view import View
from reroll.pipeline import canary
from reroll.pipeline.approve import Said, content_of, whoami
from reroll.pipeline.approve import write as write_ruling
from reroll.pipeline.hold import Change, Result, Target, annotate
from reroll.pipeline.refused import RefusedError
from reroll.pipeline.restart import restart_one
from reroll.pipeline.urgent import call_urgent
from reroll.pipeline.use_revision import pin_to
from reroll.settings.table import Settings

MOST_SOURCES = 20
"""Sources of a workload that are asked whether they are held."""
MOST_PAST = 2000
"""Entries of the timeline that are kept, the newest."""


class Holder(NamedTuple):
    """Whoever keeps something from rolling."""

    by: str
    since: str | None
    on: Key
    """The object that says so."""
    until: str | None
    why: str = ""


class SourceFacts(NamedTuple):
    writes: Writes | None = None
    holder: Holder | None = None
    is_urgent: bool = False


_ROWS = {row.name: row for row in CONFIGS}
_HOLD = next(row for row in ANNOTATIONS if row.field == "hold")


async def _past(view: View, subjects: Sequence[Subject]) -> dict[str, Any]:
    entries = await past_of(view, subjects, MOST_PAST)
    return {"history": [plain(past_facts(one)) for one in entries], "problems": view.gaps}


def _holder(metadata: Managed, key: Key) -> Holder | None:
    """Of the object's own annotation."""
    text = (metadata.annotations or {}).get(HOLD)
    hold: Hold | None = _HOLD.parse(text) if text else None
    if hold is None:
        return None
    by, since = annotation_writer(metadata, HOLD) or ("", None)
    return Holder(by, moment(since), key, moment(hold.until), hold.why)


class Cluster(Standpoint):
    """`view` says which cluster, and which namespaces of it."""

    # Reads

    async def overview(self, saw: Saw) -> Overview:
        """One listing of everything, and what follows from it; `saw` is told of many workloads."""
        made = await self._overview(saw)
        give_back()
        return made

    async def _overview(self, saw: Saw) -> Overview:
        async with self._setup.turn:
            await self._look_around()
            view = self._fresh()
            settings, notes = await self._learn(view)
            listing = self._begun(view, settings, notes, self._earlier.under(settings))
            await listing.fill(seen=self._sighted(saw) if saw else unseen)
            return await overview(view, listing, self._clock.now, tuple(settings.windows.rows))

    def _sighted(self, saw: Callable[[Overview], None]) -> Seen:
        sights = Sights()

        def seen(kind: Kind, page: Sequence[Manifest]) -> None:
            sights.add(kind, page)
            if len(sights) >= MANY:
                saw(sights.overview(self._clock.now()))

        return seen

    def _begun(
        self,
        view: View,
        settings: Settings,
        notes: Iterable[str],
        earlier: Earlier | None = None,
    ) -> Listing:
        listing = Listing(view, self._clock, settings, settings.namespace or view.home, earlier)
        listing.notes += notes
        return listing

    async def _listing(
        self, view: View, only: Key, *, supposing: bool = False
    ) -> tuple[Listing, Settings]:
        """`supposing`: also what one uses that is not opted in; never for what writes."""
        settings, notes = await self._learn(view)
        listing, named = self._begun(view, settings, notes), only.name
        await listing.fill(
            lambda _, one: one.metadata.name == named, (only.kind,), supposing=supposing
        )
        return listing, settings

    async def explain(self, key: Key) -> Facts | None:
        """What `reroll explain -o json` tells of one workload; `None`: there is none."""
        view = self._fresh(key.namespace)
        listing, settings = await self._listing(view, key, supposing=True)
        if key not in listing.workloads:
            return None
        now = self._clock.now()
        [one] = await judged(view, listing, [await listing.decide(key)], now)
        facts = explained_facts(await explained(view, listing, one, settings, now))
        return {**facts, "problems": view.gaps, "notes": listing.notes}

    async def past(self, *keys: Key) -> dict[str, Any]:
        """What `reroll history -o json` tells of some workloads of one namespace."""
        view, kinds = self._fresh(keys[0].namespace), {key.kind for key in keys}
        settings, _ = await self._learn(view)
        rows = [row for row in settings.tables.kinds if row.name in kinds]
        mine = [one for one in await view.workloads(rows) if one.workload.key in keys]
        known = await situations_of(view, settings, self._clock, mine)
        return await _past(view, [subject(one, known.get(one.workload.key)) for one in mine])

    async def timeline(self, subjects: Iterable[Subject]) -> dict[str, Any]:
        """The same of all workloads of an overview: they are not listed again for it."""
        found = await _past(self._fresh(), tuple(subjects))
        give_back()
        return found

    async def revisions(self, kind: Kind, key: Key) -> Facts:
        """What `reroll revisions -o json` tells of one workload, and which one is `previous`."""
        view = self._fresh(key.namespace)
        settings, _ = await self._learn(view)
        revised = await gather_revisions.read(view, kind, key.name, settings.tables)
        lines = await gather_revisions.lines_of(view, revised)
        told: Facts = plain(revisions.document(revised.own.workload, lines, view.gaps))
        return {**told, "previous": before_this(revised)}

    async def audit(self) -> Facts:
        """What `reroll audit -o json` tells of pods with something to tell, and how many run."""
        found = await self._audit()
        give_back()
        return found

    async def _audit(self) -> Facts:
        view = self._fresh()
        settings, _ = await self._learn(view)
        found = await audit(view, None, mounts_are_live=True, read_certificates=False)
        pods = await with_records(view, self._clock, settings, found.pods)
        told = [each for each in pods if any(map(each.has, SHOWN))]
        return {
            "running": Counter(each.pod.namespace for each in pods if each.runs),
            "pods": [plain(pod_facts(each, {})) for each in told],
            "problems": view.gaps,
        }

    async def doctor(self) -> Facts:
        """What `reroll doctor -o json` tells."""
        setup = self._setup
        view, wanted = self._fresh(), setup.wanted
        if wanted.settings:
            wanted = wanted._replace(settings=(await self._learn(view)).settings)
        parts = view, wanted, survey, self._clock, setup.version
        told: Facts = plain(findings_document(await Examination(*parts).run(), setup.version))
        return told

    async def source(self, key: Key) -> SourceFacts:
        """Who wrote a source, and who holds it; nothing of one that may not be read."""
        resource = resources.CONFIGS.get(key.kind)
        if resource is None:
            return SourceFacts()
        stub = await self._fresh().get(resource, key.namespace, key.name, Stub)
        if stub is None:
            return SourceFacts()
        is_urgent = (stub.metadata.annotations or {}).get(URGENT, "").strip() == "true"
        return SourceFacts(writes(stub.metadata), _holder(stub.metadata, key), is_urgent)

    async def holder(self, kind: Kind, key: Key, sources: Sequence[Key]) -> Holder | None:
        """Who holds a workload; `None` if neither it, its Namespace nor a source of it says so."""
        place = Key("Namespace", "", key.namespace)
        objects = [(resources.of(kind), key), (resources.NAMESPACES, place)]
        objects += [
            (resources.CONFIGS[one.kind], one)
            for one in sources[:MOST_SOURCES]
            if one.kind in resources.CONFIGS
        ]
        for resource, one in objects:
            stub = await self._fresh().get(resource, one.namespace or None, one.name, Stub)
            if stub and (found := _holder(stub.metadata, one)):
                return found
        return None

    async def trial(self, kind: Kind, key: Key) -> frozenset[str]:
        """The words that can be said of its canary; none where there is none."""
        try:
            found = await canary.on_trial(self._fresh(key.namespace), kind, key)
        except RefusedError:
            return frozenset()
        return frozenset(word for word in canary.WORDS if found.can_be(word))

    async def guarded(self) -> bool | None:
        """Whether the API server guards approvals; `None`: that may not be looked at."""
        return await is_guarded(self._view.client)

    async def allowed(self, wanted: Sequence[tuple[str, wire.Resource, str]]) -> list[bool]:
        """Whether the user may do these: a verb, a resource and a namespace each."""
        questions = [
            Question(Feature.ROLLING, verb, resource.group, resource.plural, namespace)
            for verb, resource, namespace in wanted
        ]
        lacking = await ask(self._view.client, questions)
        closed = resources.SECRETS.plural if self._setup.hides_key_names else ""
        return [one not in lacking and one.resource != closed for one in questions]

    # Writes

    async def hold(self, resource: wire.Resource, key: Key, value: str | None) -> Result:
        """Hold a workload or a source, or release it; as the user, by the code of `reroll hold`."""
        target = Target(resource, key.namespace, key.name)
        return await annotate(self._fresh(), target, Change(value, self._clock.now()))

    async def restart(self, key: Key, why: str) -> str:
        """Restart one workload as the user; what is wrong, or nothing."""
        view = self._fresh(key.namespace)
        listing, _ = await self._listing(view, key)
        return await restart_one(view, self._clock, listing, key, why)

    async def rule(self, key: Key, content: str, why: str) -> None:
        """Approve a content of a source, or reject it if there is a `why`: by `reroll approve`."""
        view = self._fresh(key.namespace)

        async def learn() -> Settings:
            return (await self._learn(view)).settings

        row = _ROWS[key.kind]
        me, found = await whoami(view), await content_of(view, learn, row, key, content)
        await write_ruling(view, row, Said(key, Ruling(found, me, why)))

    async def call_urgent(self, key: Key, *, is_urgent: bool) -> None:
        """Have changes of a source pass what others wait for, or no longer."""
        target = Target(resources.CONFIGS[key.kind], key.namespace, key.name)
        await call_urgent(self._fresh(), target, is_urgent=is_urgent)

    async def use(self, key: Key, revision: str) -> str:
        """Go back to a revision by the code of `reroll revisions use`; what came of it."""
        view = self._fresh(key.namespace)
        tables = (await self._learn(view)).settings.tables
        kind = tables.by_name[key.kind]
        revised = await gather_revisions.read(view, kind, key.name, tables)
        found = await choose(view, revised, revision)
        told = f"{key} has the content of revision {found.revision.number}"
        if found.is_there:
            return f"{told} already; nothing was done."
        await pin_to(view, revised.own, found.pins, found.revision.stamp)
        return f"{told} now ({found.revision.name})."

    async def decide_canary(self, key: Key, word: str) -> None:
        """Promote or abort a canary, by the code of `reroll promote`."""
        view = self._fresh(key.namespace)
        kind = (await self._learn(view)).settings.tables.by_name[key.kind]
        await canary.decide(view, self._clock, kind, key, word)
