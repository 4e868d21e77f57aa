"""What scenarios with Reloader's annotations share."""

import hashlib

from tests.support import build

AUTO = {"reloader.stakater.com/auto": "true"}
NEW = hashlib.sha1(b"key=new").hexdigest()
"""What Reloader makes of a source with the one key `key` and the value `new`."""


def variables(template: build.Object) -> list[dict[str, str]]:
    """The variables of each container, by name."""
    containers = template["spec"]["containers"]
    return [{v["name"]: v.get("value", "") for v in c.get("env", ())} for c in containers]
