"""The one session of the process, and the lists of what there is by name."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

from tilewright import _native

INSTRUCTIONS = ("fma", "mma.sync", "wgmma")


def instruction_number(instruction: str | None) -> int:
    """Of the C interface; None is any."""
    if instruction is None:
        return -1
    if instruction not in INSTRUCTIONS:
        from tilewright.errors import InputError

        raise InputError(
            f"instruction is {instruction!r}, allowed are {', '.join(INSTRUCTIONS)}, and None for any"
        )
    return INSTRUCTIONS.index(instruction)


@functools.cache
def session() -> _native.Handle:
    bundled = Path(__file__).parent / "share" / "tilewright"
    own = "TILEWRIGHT_DATA" not in os.environ and bundled.is_dir()
    return _native.open(_native.ABI_VERSION, str(bundled) if own else None)


def _entries(what: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(_native.list_named(session(), what))[what]
    return entries


def devices() -> list[dict[str, Any]]:
    """The bundled devices: ``name``, ``compute_capability``, and ``numbers``, each with its ``key``,
    ``value``, ``unit``, ``meaning`` and ``source``."""
    return _entries("devices")


def calibrations() -> list[dict[str, Any]]:
    """The bundled calibrations, with their parameters and the spreads that were found."""
    return _entries("calibrations")


def families() -> list[dict[str, Any]]:
    """The kernels that :func:`tilewright.suggest` knows: ``name``, ``about``, ``arguments`` and an
    ``example`` of these."""
    return _entries("families")
