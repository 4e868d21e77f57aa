"""What an installation is told: its settings, out of its own Deployment. Pure.

Flags and variables stand in the pod template; the config file is a key of a ConfigMap that it
mounts.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from reroll.answers.migration.controllers import Container
from reroll.core.model.podspec import given
from reroll.settings.table import ENVIRONMENT_PREFIX, SETTINGS

CONFIG = "--config"


class _Mount(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    mount_path: str = ""


class OurContainer(Container, gc=False):
    mounts: list[_Mount] | None = msgspec.field(default=None, name="volumeMounts")


class Volume(msgspec.Struct, gc=False, rename="camel"):
    class ConfigMap(msgspec.Struct, gc=False):
        name: str = ""

    name: str = ""
    config_map: ConfigMap | None = None


class Told(NamedTuple):
    flags: dict[str, str]
    """By the name of the setting."""
    variables: dict[str, str]
    config_map: str = ""
    """With the config file; empty if there is none, or if it is something else."""
    key: str = ""


def told(container: OurContainer, volumes: Sequence[Volume]) -> Told:
    given_words = dict(_words(container.words))
    named = {row.flag: row.name for row in SETTINGS}
    flags = {named[word]: value for word, value in given_words.items() if word in named}
    variables = {
        one.name: one.value
        for one in given(container.env)
        if one.value is not None and one.name.startswith(ENVIRONMENT_PREFIX)
    }
    path = given_words.get(CONFIG) or variables.get(f"{ENVIRONMENT_PREFIX}CONFIG", "")
    folder, _, key = path.rpartition("/")
    mounted = {one.mount_path.rstrip("/"): one.name for one in given(container.mounts)}
    maps = {one.name: one.config_map.name for one in volumes if one.config_map}
    config_map = maps.get(mounted.get(folder, ""), "")
    return Told(flags, variables, config_map, key if config_map else "")


def _words(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Flags with their values: `--name=value`, `--name value`, or `--name` alone."""
    for number, word in enumerate(words):
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            after = words[number + 1] if number + 1 < len(words) else ""
            yield name, value if equals else ("true" if after.startswith("--") else after or "true")
