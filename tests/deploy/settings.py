"""The product's variables, to hold the deployment's files to."""

from __future__ import annotations

from gorge_worker.config.settings import Settings

NAMES = frozenset(spelling for one in Settings.variables() for spelling in (one.name, one.prefixed))
"""Every variable of the product, in both spellings."""


def default(name: str) -> str:
    return next(one.default for one in Settings.variables() if one.name == name)
