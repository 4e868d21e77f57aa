"""The settings of an installation, read from the cluster as its pods read them."""

import msgspec

from reroll.answers.doctor.installation import Installation
from reroll.cli.errors import CommandError
from reroll.cli.files import yaml_mapping
from reroll.core.model.metadata import Metadata
from reroll.kube import wire
from reroll.kube.view import View
from reroll.settings.table import Settings, SettingsError, resolve

CONFIG_MAPS = wire.Resource("", "v1", "configmaps", "ConfigMap")


class _ConfigMap(msgspec.Struct, gc=False):
    metadata: Metadata
    data: dict[str, str] | None = None


async def installed_settings(view: View, one: Installation) -> Settings:
    """Raises a `CommandError` with what cannot be read, or cannot be used."""
    told, namespace = one.told, one.key.namespace
    where = f"ConfigMap {namespace}/{told.config_map}"
    text = ""
    if told.config_map:
        near = View(view.client, namespace, view.home)
        found = await near.get(CONFIG_MAPS, namespace, told.config_map, _ConfigMap)
        if found is None:
            raise CommandError(near.gaps[0] if near.gaps else f"{where} does not exist")
        text = (found.data or {}).get(told.key, "")
    try:
        return resolve(told.flags, told.variables, yaml_mapping(text, where), where)
    except SettingsError as error:
        raise CommandError(f"its settings cannot be used: {'; '.join(error.problems)}") from None
