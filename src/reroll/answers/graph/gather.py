"""Gathers who uses which sources: workloads with their policies, sources, and Injections."""

import asyncio

from reroll.answers.graph.graph import Graph, Member, graph
from reroll.answers.namespaces import namespaces
from reroll.clock import Clock
from reroll.core.model.injection import Injection, Manifest, read
from reroll.core.observe.workload import belongs_to_workload
from reroll.core.revisions.copies import is_copy
from reroll.engine.configs import Configs, every_config
from reroll.engine.listing import Listing
from reroll.kube import resources
from reroll.kube.view import View
from reroll.settings.table import Settings


async def gather(view: View, settings: Settings, clock: Clock) -> tuple[Graph, Configs]:
    """The graph of what was asked for, and the sources that there are."""
    rows = [row for row in settings.tables.sources if row.paths]
    members, configs, injections = await asyncio.gather(
        _members(view, settings, clock), every_config(view, rows), _injections(view)
    )
    there = {key for key, metadata in configs.there.items() if not is_copy(metadata)}
    # Sources of namespaces that were not listed count as there.
    there |= {
        source
        for each in injections
        for source in each.sources
        if view.namespace not in {None, source.namespace}
    }
    return graph(members, frozenset(there), configs.blind, injections), configs


async def _injections(view: View) -> list[Injection]:
    manifests = await view.every(resources.INJECTIONS, Manifest)
    return sorted(map(read, manifests), key=lambda each: each.key)


async def _members(view: View, settings: Settings, clock: Clock) -> list[Member]:
    """Every workload, with what annotations and settings say of it."""
    world = Listing(view, clock, settings, view.home).world
    for metadata in await namespaces(view):
        world.namespaces.observe(metadata)
    return [
        Member(each.workload.key, each.workload.uses, world.policy_of(each.kind, each.manifest))
        for each in await view.workloads(world.tables.kinds)
        if not belongs_to_workload(each.manifest.metadata, world.tables)
        and not each.workload.borrows
    ]
