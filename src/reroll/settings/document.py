"""A YAML document of `name: value` lines, as config files are."""

from typing import Any


def yaml_mapping(text: str, where: str) -> dict[str, Any]:
    """The mapping in a text, empty if there is nothing in it; a `ValueError` says what is wrong."""
    import yaml

    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"{where} is not YAML: {' '.join(str(error).split())}") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        problem = f"{where}: it has to be `name: value` lines"
        raise ValueError(problem)  # noqa: TRY004  the text is wrong, not a type of ours
    return {str(key): value for key, value in document.items()}
