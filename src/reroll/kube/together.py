"""The former name of `reroll.kube.aio.gather`."""

from reroll.kube.aio import gather as together

__all__ = ["together"]
