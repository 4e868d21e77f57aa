"""Who we are to the API server."""

import msgspec

from reroll.kube import resources, wire
from reroll.kube.client import Client
from reroll.kube.errors import Forbidden, NotFound


class _Answer(msgspec.Struct):
    class Status(msgspec.Struct, rename="camel"):
        class User(msgspec.Struct):
            username: str = ""

        user_info: User

    status: Status


async def own_name(client: Client) -> str:
    """The user name of these credentials; empty where the server does not tell."""
    body = {"apiVersion": resources.SELF_REVIEWS.api_version, "kind": resources.SELF_REVIEWS.kind}
    try:
        raw = await client.send(wire.create(resources.SELF_REVIEWS, None, body))
    except (NotFound, Forbidden):
        return ""
    return msgspec.json.decode(raw, type=_Answer).status.user_info.username
