"""RFC 6902 as the API server takes it: all operations, or none."""

from typing import Any

from reroll.kube.errors import Invalid

Document = dict[str, Any]


def patched(document: Document, operations: list[dict[str, Any]]) -> Document:
    """The document after these operations; `Invalid` if a test fails. The old one stays as it is.

    Only what lies on the path of a change is copied.
    """
    root: Document = {"": document}
    owned: set[int] = {id(root)}
    for one in operations:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in one["path"].split("/")]
        if one["op"] == "test":
            _test(root, steps, one["value"])
        else:
            _change(root, steps, one, owned)
    changed: Document = root[""]
    return changed


def _test(here: Any, steps: list[str], value: Any) -> None:
    for step in steps[:-1]:
        here = _item(here, step)
        if here is None:
            raise Invalid("the parent of what is tested is not there", status=422)
    last = steps[-1]
    found = here.get(last) if isinstance(here, dict) else _item(here, last)
    if found != value:
        raise Invalid("a test failed", status=422)


def _item(here: Any, step: str) -> Any:
    if isinstance(here, list):
        return here[int(step)] if int(step) < len(here) else None
    return here.get(step)


def _change(here: Any, steps: list[str], one: dict[str, Any], owned: set[int]) -> None:
    for step in steps[:-1]:
        place = int(step) if isinstance(here, list) else step
        below = _item(here, step)
        if below is None:
            raise Invalid("the parent of what is changed is not there", status=422)
        if id(below) not in owned:
            below = here[place] = below.copy()
            owned.add(id(below))
        here = below
    last = steps[-1]
    if isinstance(here, list):
        _change_list(here, last, one)
    elif one["op"] == "remove":
        del here[last]
    else:
        here[last] = one["value"]


def _change_list(here: list[Any], last: str, one: dict[str, Any]) -> None:
    if one["op"] == "remove":
        del here[int(last)]
    elif one["op"] == "replace":
        here[int(last)] = one["value"]
    else:
        here.insert(len(here) if last == "-" else int(last), one["value"])


def merged(document: Any, body: Any) -> Any:
    """RFC 7396, and owners by their uid, as a strategic patch of metadata merges them."""
    if not isinstance(body, dict):
        return body
    after = dict(document) if isinstance(document, dict) else {}
    for name, value in body.items():
        if value is None:
            after.pop(name, None)
        elif name == "ownerReferences":
            after[name] = _owners(after.get(name, []), value)
        else:
            after[name] = merged(after.get(name), value)
    return after


def _owners(there: list[Document], changes: list[Document]) -> list[Document]:
    by_uid = {one["uid"]: one for one in there}
    for one in changes:
        if one.get("$patch") == "delete":
            by_uid.pop(one["uid"], None)
        else:
            by_uid[one["uid"]] = one
    return list(by_uid.values())
