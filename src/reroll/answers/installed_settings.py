"""The settings of an installation, read from its own Deployment as its pods read them.

Flags and variables stand in the pod template; the config file is a key of a ConfigMap that it
mounts.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from reroll.answers.controllers import ControllerContainer
from reroll.answers.errors import AnswerError
from reroll.core.model.podspec import given
from reroll.kube import resources
from reroll.kube.objects import DataObject
from reroll.kube.view import View
from reroll.settings.document import yaml_mapping
from reroll.settings.resolve import SettingsError, resolve
from reroll.settings.rows import ENVIRONMENT_PREFIX
from reroll.settings.table import SETTINGS, Settings

CONFIG = "--config"


class _Mount(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    mount_path: str = ""


class OurContainer(ControllerContainer, gc=False):
    mounts: list[_Mount] | None = msgspec.field(default=None, name="volumeMounts")


class Volume(msgspec.Struct, gc=False, rename="camel"):
    class ConfigMap(msgspec.Struct, gc=False):
        name: str = ""

    name: str = ""
    config_map: ConfigMap | None = None


class SettingsSource(NamedTuple):
    """Where an installation has its settings from."""

    flags: dict[str, str]
    """By the name of the setting."""
    variables: dict[str, str]
    config_map: str = ""
    """With the config file; empty if there is none, or if it is something else."""
    key: str = ""


def settings_source(container: OurContainer, volumes: Sequence[Volume]) -> SettingsSource:
    words = dict(_words(container.words))
    named = {row.flag: row.name for row in SETTINGS}
    flags = {named[word]: value for word, value in words.items() if word in named}
    variables = {
        one.name: one.value
        for one in given(container.env)
        if one.value is not None and one.name.startswith(ENVIRONMENT_PREFIX)
    }
    path = words.get(CONFIG) or variables.get(f"{ENVIRONMENT_PREFIX}CONFIG", "")
    folder, _, key = path.rpartition("/")
    mounted = {one.mount_path.rstrip("/"): one.name for one in given(container.mounts)}
    maps = {one.name: one.config_map.name for one in volumes if one.config_map}
    config_map = maps.get(mounted.get(folder, ""), "")
    return SettingsSource(flags, variables, config_map, key if config_map else "")


def _words(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Flags with their values: `--name=value`, `--name value`, or `--name` alone."""
    for number, word in enumerate(words):
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            after = words[number + 1] if number + 1 < len(words) else ""
            yield name, value if equals else ("true" if after.startswith("--") else after or "true")


async def installed_settings(view: View, source: SettingsSource, namespace: str) -> Settings:
    """Raises an `AnswerError` with what cannot be read, or cannot be used."""
    where = f"ConfigMap {namespace}/{source.config_map}"
    text = ""
    if source.config_map:
        near = View(view.client, namespace, view.home)
        config = await near.get(resources.CONFIG_MAPS, namespace, source.config_map, DataObject)
        if config is None:
            raise AnswerError(near.gaps[0] if near.gaps else f"{where} does not exist")
        text = (config.data or {}).get(source.key, "")
    try:
        return resolve(source.flags, source.variables, yaml_mapping(text, where), where)
    except SettingsError as error:
        raise AnswerError(f"its settings cannot be used: {'; '.join(error.problems)}") from None
    except ValueError as error:
        raise AnswerError(str(error)) from None
