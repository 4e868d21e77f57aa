"""Gathers what `reroll doctor` judges: one method for each check, in the order they are shown.

What may not be read is a finding of that check, and the other checks go on.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from reroll.answers.controllers import Lease, Survey, Surveyor
from reroll.answers.doctor import injections, installation, keys, rights, rivals, scrape, server
from reroll.answers.doctor.approvals import guarding
from reroll.answers.doctor.canaries import judge_canaries
from reroll.answers.doctor.findings import Check, Finding, Level
from reroll.answers.doctor.gates import judge_gates, with_analysis
from reroll.answers.doctor.installation import LEASE
from reroll.answers.doctor.keys import KEY
from reroll.answers.doctor.opted_in import opted_in
from reroll.answers.doctor.propagation import judge_paces
from reroll.answers.doctor.replicas import Replica, UnreadMetrics, from_urls, of_replicas, running
from reroll.answers.doctor.rewriting import rewriting
from reroll.answers.doctor.rights import RIGHTS
from reroll.answers.doctor.scrape import METRICS
from reroll.answers.doctor.windows import judge_windows
from reroll.answers.errors import AnswerError
from reroll.answers.installations import Installation, installations
from reroll.answers.installed_settings import installed_settings
from reroll.clock import Clock
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.model.record import Record
from reroll.core.tables.kinds import KINDS, Kind
from reroll.engine import keyring, row_checks
from reroll.engine.stores import stored_elsewhere
from reroll.features.checkup import access
from reroll.features.checkup.access import Subject
from reroll.features.checkup.switched_on import questions_of
from reroll.kube import api, discovery, resources, wire
from reroll.kube.errors import ApiError, Forbidden, Invalid, Malformed, NotFound, Rejected
from reroll.kube.identity import own_name
from reroll.kube.objects import DataObject
from reroll.kube.view import View
from reroll.settings.table import Settings

DEPLOYMENT = KINDS[0]
LOOK = Check("doctor")
SETTINGS = Check("settings")
ELSEWHERE = "say where they are with --metrics-url"
PATIENCE = 10.0


class Wanted(NamedTuple):
    """What of an installation is known before anything is read."""

    settings: Settings | None = None
    """Of the controller; `None`: they are read from its Deployment."""
    home: str = ""
    """The namespace of the controller; empty: it is looked for."""
    account: str = ""
    """The service account of the controller; empty: that of its Deployment."""
    lease: str = ""
    """The Lease of the controller, where a namespace has several; empty: any."""
    metrics_urls: tuple[str, ...] = ()
    """Where replicas serve their metrics; none: their pods, through the API server."""


class Examination:
    """One look at an installation; `version` is that of this command."""

    def __init__(
        self, view: View, wanted: Wanted, survey: Surveyor, clock: Clock, version: str
    ) -> None:
        self._view, self._wanted, self._survey = view, wanted, survey
        self._clock, self._version = clock, version
        self._settings = wanted.settings or Settings()
        self._home = wanted.home or self._settings.namespace
        self._ours: Key | None = None
        """The Deployment of the installation that this is about."""
        self._is_blind = False
        """Deployments may not be listed, so a controller may be where nobody looked."""
        self._is_led = True

    @property
    def home(self) -> str:
        return self._home or self._view.home

    async def run(self) -> list[Finding]:
        """Everything, each check whatever the others found."""
        there = installations(await self._deployments())
        self._home = self._home or self._likely_home(there)
        learnt = [] if self._wanted.settings else await self._learn(there)
        if self._wanted.settings:
            self._ours = next((o.key for o in there if o.key.namespace == self.home), None)
        here = [one for one in there if one.key == self._ours] if self._ours else []
        surveyed = await self._survey(self._view, self._settings)
        replicas = await running(self._view, here)
        findings = [
            *learnt,
            *await self._server(),
            *await self._controller(here, there, replicas),
            *await self._rights(here),
            *await self._key(here, surveyed),
            *await self._metrics(replicas),
            *await rewriting(self._view, surveyed.workloads, self._clock),
            *await self._injections(),
            *rivals.others(surveyed, self._settings.dialects),
            *rivals.annotations(surveyed),
            *judge_paces([one for one in surveyed.paced if one[1].pace.governs]),
            *await self._gates(surveyed),
            *judge_windows(self._settings.windows.rows, surveyed.paced, self._clock.now()),
            *await guarding(self._view, surveyed, self._settings),
            *judge_canaries(surveyed.workloads, is_led=self._is_led),
            *await opted_in(self._view, self._clock, self._settings, self.home),
        ]
        gaps = dict.fromkeys(self._view.gaps)
        return [*findings, *(LOOK.note(f"not checked: {gap}") for gap in gaps)]

    def _likely_home(self, there: list[Installation]) -> str:
        places = [one.key.namespace for one in there]
        return next(iter(places), "") if self._view.home not in places else ""

    async def _learn(self, there: list[Installation]) -> list[Finding]:
        """The settings of the controller, so that everything is looked at as it does."""
        problems = []
        for one in (one for one in there if one.key.namespace == self.home):
            self._ours = self._ours or one.key
            try:
                settings = await installed_settings(self._view, one.settings, self.home)
            except AnswerError as error:
                todo = "or give this command the controller's --config"
                problems.append(SETTINGS.problem(str(error), todo))
                continue
            if self._wanted.lease in {"", settings.lease}:
                self._ours, self._settings = one.key, settings
                return [SETTINGS.ok(f"the settings are those of {one.key}")]
        return problems

    # The API server

    async def _server(self) -> list[Finding]:
        version = await discovery.version(self._view.client)
        apis = [row.resource for row in server.OPTIONAL] + list(server.MUTATING_POLICIES)
        answers = await asyncio.gather(*map(self._view.serves, apis))
        apis = [each for each, served in zip(apis, answers, strict=True) if served]
        findings = list(server.judge(server.Served(version, apis, await self._streams())))
        findings.append(server.stores(await self._stored_elsewhere()))
        for row in self._settings.tables.custom.values():
            misfits = await row_checks.problems_of(self._view.client, row)
            findings += [server.misfit(row.name, problem) for problem in misfits or ()]
            if not misfits:
                served = await self._view.serves(resources.of(row))
                compared = misfits is not None
                findings.append(server.configured(row.name, served=served, compared=compared))
        return findings

    async def _stored_elsewhere(self) -> list[str]:
        tables = self._settings.tables
        others = [*map(resources.of, tables.kinds), *map(resources.to_watch, tables.sources)]
        place = self._view.namespace
        found = await stored_elsewhere(self._view.client, resources.DEPLOYMENTS, others, place)
        return [one.full_name for one in found]

    async def _streams(self) -> bool | None:
        """Whether a watch may begin with all there is: tried on what nothing has."""
        request = wire.watch(
            resources.CONFIG_MAPS,
            self.home,
            resource_version="",
            send_initial_events=True,
            label_selector="reroll.dev/none=here",
            timeout_seconds=1,
            metadata_only=True,
        )
        try:
            async with self._view.client.lines(request, read_timeout=PATIENCE) as batches:
                async for _ in batches:
                    return True
        except (Invalid, Rejected):
            return False
        except ApiError:
            return None
        return None

    # The controller

    async def _deployments(self) -> list[tuple[Kind, Manifest]]:
        """Of the whole cluster, or of one namespace if that is meant or no more may be listed."""
        near = View(self._view.client, self._view.namespace and self.home, self._view.home)
        manifests = await near.every(resources.DEPLOYMENTS, Manifest)
        if near.gaps:
            near = View(self._view.client, self.home, self._view.home)
            manifests = await near.every(resources.DEPLOYMENTS, Manifest)
            self._is_blind = True
            self._view.gaps += near.gaps
        return [(DEPLOYMENT, manifest) for manifest in manifests]

    async def _controller(
        self, here: list[Installation], there: list[Installation], replicas: list[Replica]
    ) -> list[Finding]:
        where = f"Lease {self.home}/{self._settings.lease}"
        try:
            lease, before = await self._lease()
        except Forbidden:
            leading, held = LEASE.note(f"{where} may not be read", "grant `get` on it"), bool(here)
        else:
            wanted = any(one.replicas for one in here) and self._settings.leader_election
            leading = installation.lease(self._clock.now(), lease, before, where, wanted=wanted)
            held = lease is not None and leading.level in {Level.OK, Level.WARNING}
        self._is_led = held or self._is_blind or any(one.ready for one in there)
        versions = [(str(one.key), one.version) for one in here]
        versions += [(str(one), one.version) for one in replicas if one.version]
        others = [str(one.key) for one in there if one not in here]
        missing = installation.nowhere(self.home, others, held=held, is_blind=self._is_blind)
        return [
            *installation.deployments(here),
            *(() if here else (missing,)),
            *(installation.beside(others) if here else ()),
            leading,
            *installation.versions(versions, self._version),
        ]

    async def _lease(self) -> tuple[Lease | None, Lease | None]:
        """The Lease, and how it was a while before if it looked old."""
        lease = await self._one_lease()
        if lease is None or not lease.spec.holder_identity or lease.is_held(self._clock.now()):
            return lease, None
        await asyncio.sleep((lease.spec.lease_duration_seconds or 15) / 5 + 1)
        return await self._one_lease(), lease

    async def _one_lease(self) -> Lease | None:
        name = self._settings.lease
        return await api.find(self._view.client, resources.LEASES, self.home, name, Lease)

    async def _rights(self, here: list[Installation]) -> list[Finding]:
        account = self._wanted.account or next((one.account for one in here), "")
        if not account:
            return [
                RIGHTS.note(
                    "the controller's rights were not checked: its service account is not "
                    "known here",
                    "name it with --service-account",
                )
            ]
        me, subject = await own_name(self._view.client) or "you", Subject(self.home, account)
        who = f"ServiceAccount {self.home}/{account}"
        asked = questions_of(self._settings, self.home)
        try:
            own = subject.user == me
            lacking = await access.ask(self._view.client, asked, None if own else subject)
        except Forbidden:
            unasked = RIGHTS.note(
                f"the rights of {who} were not checked: {me} may not ask about others",
                "grant `create` on subjectaccessreviews, or run this as it",
            )
            return [unasked]
        return list(rights.judge(asked, lacking, who))

    async def _key(self, here: list[Installation], surveyed: Survey) -> list[Finding]:
        name, model = self._settings.digest_key, DataObject
        where = f"Secret {self.home}/{name}"
        try:
            secret = await api.get(self._view.client, resources.SECRETS, self.home, name, model)
            ring, _ = keyring.read(secret)
        except NotFound:
            return [keys.missing(where, is_installed=bool(here))]
        except Forbidden:
            return [KEY.note(f"{where} may not be read; few people should be able to")]
        except Malformed as error:
            named = next((f"deployment/{o.key.name} -n {o.key.namespace}" for o in here), "")
            return [keys.unusable(str(error), named)]
        current = (secret.metadata.annotations or {}).get(keyring.CURRENT)
        used = Counter(record.k for record in self._own_records(surveyed) if record.k)
        strange = {key_id: count for key_id, count in used.items() if key_id not in ring}
        return [keys.judge(where, ring, current), *keys.unknown(strange, where)]

    def _own_records(self, surveyed: Survey) -> Iterator[Record]:
        """The records that are surely this installation's: by labels, others may have theirs."""
        settings = self._settings
        if settings.namespace_selector or settings.workload_selector:
            return
        for _, _, workload in surveyed.workloads:
            is_ours = not settings.namespaces or workload.key.namespace in settings.namespaces
            if is_ours and isinstance(workload.record, Record):
                yield workload.record

    async def _metrics(self, replicas: list[Replica]) -> list[Finding]:
        port = int(self._settings.listen.rpartition(":")[2] or 8080)
        urls = self._wanted.metrics_urls
        read = await from_urls(urls) if urls else await of_replicas(self._view, replicas, port)
        findings = [] if read else [METRICS.note("metrics were not read", ELSEWHERE)]
        for each in read:
            if isinstance(each, UnreadMetrics):
                level = METRICS.problem if each.asked_for else METRICS.note
                findings.append(level(f"{each.where} serves no metrics: {each.why}", ELSEWHERE))
        scrapes = [each for each in read if isinstance(each, scrape.Scrape)]
        known = {str(one) for one in replicas if one.version}
        versions = [(each.where, each.version) for each in scrapes if each.where not in known]
        judged = scrape.judge(scrapes)
        return [*findings, *judged, *installation.versions(versions, self._version)]

    async def _gates(self, surveyed: Survey) -> list[Finding]:
        rows = self._settings.gates
        asked = bool(with_analysis(rows))
        served = not asked or await self._view.serves(resources.ANALYSIS_RUNS)
        return list(judge_gates(rows, surveyed.paced, has_analysis=served))

    async def _injections(self) -> list[Finding]:
        there = await self._view.every(resources.INJECTIONS, injections.InjectionStatus)
        return list(injections.judge(there, is_on=self._settings.injections))
