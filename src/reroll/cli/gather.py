"""Gathers what `reroll doctor` judges: one method for each check, in the order they are told.

What may not be seen is a finding of that check, and the other checks go on.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable

import msgspec

from reroll.answers.doctor import injections, installation, keys, rights, rivals, scrape, server
from reroll.answers.doctor.findings import Check, Finding, Level
from reroll.answers.doctor.installation import LEASE, Installation
from reroll.answers.doctor.keys import KEY
from reroll.answers.doctor.rights import ACCESS
from reroll.answers.doctor.scrape import METRICS
from reroll.answers.migration.controllers import Lease
from reroll.cli.cluster import resource
from reroll.cli.commands.migrate_check import survey
from reroll.cli.errors import CommandError
from reroll.cli.installed import installed_settings
from reroll.cli.metrics import Pod, Unread, from_urls, of_pods, running
from reroll.cli.rewriting_facts import rewriting
from reroll.clock import Clock
from reroll.core.model.metadata import Manifest
from reroll.core.tables.kinds import KINDS, Kind
from reroll.engine import keyring, shapes
from reroll.features.checkup import access
from reroll.features.checkup.access import Subject
from reroll.features.checkup.switched_on import INJECTIONS, questions_of
from reroll.kube import wire
from reroll.kube.errors import ApiError, Forbidden, Invalid, Malformed, NotFound, Rejected
from reroll.kube.view import View
from reroll.settings.table import Settings

DEPLOYMENT = KINDS[0]
LEASES = wire.Resource("coordination.k8s.io", "v1", "leases", "Lease")
CONFIG_MAPS = wire.Resource("", "v1", "configmaps", "ConfigMap")
REVIEWS = wire.Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
)
LOOK = Check("doctor")
SETTINGS = Check("settings")
ELSEWHERE = "say where they are with --metrics-url"
PATIENCE = 10.0


class _Answer(msgspec.Struct):
    class Status(msgspec.Struct, rename="camel"):
        class User(msgspec.Struct):
            username: str = ""

        user_info: User

    status: Status


class Examination:
    """`settings`: of the controller; `None`: those that its Deployment tells, in `home`."""

    def __init__(
        self, view: View, settings: Settings | None, home: str, clock: Clock, version: str
    ) -> None:
        self._view, self._clock, self._version = view, clock, version
        self._given, self._settings = settings is not None, settings or Settings()
        self.home = home or self._settings.namespace or view.home
        self._is_said = bool(home or self._settings.namespace)

    async def run(self, account: str, urls: tuple[str, ...]) -> AsyncIterator[Finding]:
        """Everything, each check whatever the others found."""
        here = installation.installations(await self._deployments())
        self._settle(here)
        learnt = [] if self._given else [one async for one in self._learn(here)]
        surveyed = await survey(self._view, self._settings.tables.kinds)
        pods = await running(self._view, here)
        checks = (
            _each(learnt),
            self._server(),
            self._controller(here, pods),
            self._rights(here, account),
            self._key(),
            self._metrics(pods, urls),
            rewriting(self._view, surveyed.workloads, self._clock),
            self._injections(),
            _each(rivals.others(surveyed.found)),
            _each(rivals.annotations(surveyed.found)),
        )
        for check in checks:
            async for finding in check:
                yield finding
        for gap in dict.fromkeys(self._view.gaps):
            yield LOOK.note(f"not looked at: {gap}")

    def _settle(self, here: list[Installation]) -> None:
        """Where the controller is, if nobody said it."""
        places = [one.key.namespace for one in here]
        if places and not self._is_said and self.home not in places:
            self.home = places[0]

    async def _learn(self, here: list[Installation]) -> AsyncIterator[Finding]:
        """What the controller is told, so that everything is looked at as it does."""
        found = next((one for one in here if one.key.namespace == self.home), None)
        if found is None:
            return
        try:
            self._settings = await installed_settings(self._view, found)
        except CommandError as error:
            yield SETTINGS.problem(str(error), "or give this command the controller's --config")
        else:
            yield SETTINGS.ok(f"looking as {found.key} is told to")

    # The API server

    async def _server(self) -> AsyncIterator[Finding]:
        raw = await self._view.client.send(wire.Request("GET", "/version", verb="get"))
        version = msgspec.json.decode(raw, type=server.Version)
        wanted = [row.resource for row in server.OPTIONAL] + list(server.MUTATING_POLICIES)
        answers = await asyncio.gather(*map(self._view.serves, wanted))
        apis = [one for one, there in zip(wanted, answers, strict=True) if there]
        for finding in server.judge(server.Served(version, apis, await self._streams())):
            yield finding
        for row in self._settings.tables.custom.values():
            wrong = await shapes.problems(self._view.client, row)
            for problem in wrong:
                yield server.misfit(row.name, problem)
            if not wrong:
                yield server.configured(row.name, served=await self._view.serves(resource(row)))

    async def _streams(self) -> bool | None:
        """Whether a watch may begin with all there is: tried on what nothing has."""
        request = wire.watch(
            CONFIG_MAPS,
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
        """Of the whole cluster; who asks for less, or may not list those, sees its namespace."""
        near = View(self._view.client, self._view.namespace and self.home, self._view.home)
        found = await near.every(resource(DEPLOYMENT), Manifest)
        if near.gaps:
            near = View(self._view.client, self.home, self._view.home)
            found = await near.every(resource(DEPLOYMENT), Manifest)
            self._view.gaps += near.gaps
        return [(DEPLOYMENT, one) for one in found]

    async def _controller(
        self, here: list[Installation], pods: list[Pod]
    ) -> AsyncIterator[Finding]:
        where = f"Lease {self.home}/{self._settings.lease}"
        try:
            found, before = await self._lease()
        except Forbidden:
            told, held = LEASE.note(f"{where} may not be read", "grant `get` on it"), bool(here)
        else:
            wanted = any(one.replicas for one in here) and self._settings.leader_election
            told = installation.lease(self._clock.now(), found, before, where, wanted=wanted)
            held = found is not None and told.level in {Level.OK, Level.WARNING}
        for finding in installation.deployments(here):
            yield finding
        if not here:
            yield installation.nowhere(held=held)
        yield told
        told_by = [(str(one.key), one.version) for one in here]
        told_by += [(str(one), one.version) for one in pods if one.version]
        for finding in installation.versions(told_by, self._version):
            yield finding

    async def _lease(self) -> tuple[Lease | None, Lease | None]:
        """It, and how it was a while before if it looked old."""
        found = await self._one_lease()
        if found is None or not found.spec.holder_identity or found.is_held(self._clock.now()):
            return found, None
        await asyncio.sleep((found.spec.lease_duration_seconds or 15) / 5 + 1)
        return await self._one_lease(), found

    async def _one_lease(self) -> Lease | None:
        request = wire.get(LEASES, self.home, self._settings.lease)
        try:
            return msgspec.json.decode(await self._view.client.send(request), type=Lease)
        except NotFound:
            return None

    async def _rights(self, here: list[Installation], named: str) -> AsyncIterator[Finding]:
        theirs = (one.account for one in here if one.key.namespace == self.home)
        account = named or next(theirs, "")
        me = await self._me()
        if not account:
            yield ACCESS.note(
                f"no Deployment tells the controller's service account: these are rights of {me}",
                "name it with --service-account",
            )
        subject = Subject(self.home, account) if account else None
        who = f"ServiceAccount {self.home}/{account}" if account else me
        asked = questions_of(self._settings, self.home)
        try:
            own = subject is None or subject.user == me
            lacking = await access.ask(self._view.client, asked, None if own else subject)
        except Forbidden:
            yield ACCESS.note(
                f"the rights of {who} were not looked at: {me} may not ask about others",
                "grant `create` on subjectaccessreviews, or run this as it",
            )
            return
        for finding in rights.judge(asked, lacking, who):
            yield finding

    async def _me(self) -> str:
        body = {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind}
        try:
            raw = await self._view.client.send(wire.create(REVIEWS, None, body))
        except (NotFound, Forbidden):
            return "you"
        return msgspec.json.decode(raw, type=_Answer).status.user_info.username

    async def _key(self) -> AsyncIterator[Finding]:
        where = f"Secret {self.home}/{self._settings.digest_key}"
        request = wire.get(keyring.SECRETS, self.home, self._settings.digest_key)
        try:
            secret = msgspec.json.decode(
                await self._view.client.send(request), type=keyring.KeySecret
            )
            ring, _ = keyring.read(secret)
        except NotFound:
            yield keys.missing(where)
        except Forbidden:
            yield KEY.note(f"{where} may not be read, which is as it should be for most people")
        except Malformed as error:
            yield KEY.problem(str(error), "see `reroll key status`")
        else:
            said = (secret.metadata.annotations or {}).get(keyring.CURRENT)
            yield keys.judge(where, ring, said)

    # Metrics

    async def _metrics(self, pods: list[Pod], urls: tuple[str, ...]) -> AsyncIterator[Finding]:
        port = int(self._settings.listen.rpartition(":")[2] or 8080)
        read = await from_urls(urls) if urls else await of_pods(self._view, pods, port)
        for one in read:
            if isinstance(one, Unread):
                level = METRICS.problem if one.asked_for else METRICS.note
                yield level(f"{one.where} tells no metrics: {one.why}", ELSEWHERE)
        if not read:
            yield METRICS.note("no metrics were looked at", ELSEWHERE)
        scrapes = [one for one in read if isinstance(one, scrape.Scrape)]
        for finding in scrape.judge(scrapes):
            yield finding
        told_by = [(one.where, one.version) for one in scrapes]
        for finding in installation.versions(told_by, self._version):
            yield finding

    # What pods get

    async def _injections(self) -> AsyncIterator[Finding]:
        found = await self._view.every(INJECTIONS, injections.Injection)
        for finding in injections.judge(found, is_on=self._settings.injections):
            yield finding


async def _each(findings: Iterable[Finding]) -> AsyncIterator[Finding]:
    for one in findings:
        yield one
