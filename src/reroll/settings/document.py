"""A YAML document of `name: value` lines, as config files are."""

from typing import Any


def _told(error: Exception) -> str:
    """Where and what, and nothing of the text itself: there may be the address of a webhook."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is not None and problem:
        return f"line {mark.line + 1}, column {mark.column + 1}: {problem}"
    if isinstance(error, UnicodeError):
        return "it is not text"
    if isinstance(error, ValueError):
        return "a number, date or time in it is none; put text into quotes"
    return " ".join(str(error).split())


def yaml_mapping(text: str, where: str) -> dict[str, Any]:
    """The mapping in a text, empty if there is nothing in it; a `ValueError` says what is wrong."""
    import yaml

    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{where} is not YAML: {_told(error)}") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        problem = f"{where}: it has to be `name: value` lines"
        raise ValueError(problem)  # noqa: TRY004  the text is wrong, not a type of ours
    return {str(key): value for key, value in document.items()}
