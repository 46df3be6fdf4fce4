"""Ranks tiles as CUTLASS lists them: (M, N, K), of a kernel whose schedule is open."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tilewright._kernel import Kernel
from tilewright._plans import Plan
from tilewright.errors import InputError

__all__ = ["RankedTile", "rank"]


@dataclass(frozen=True)
class RankedTile:
    """A tile with its best schedule, or the reasons why it has none."""

    tile: tuple[int, ...]
    time_ns: float
    """Predicted, of the best schedule; infinity where there is none."""
    plan: Plan | None = None
    reasons: tuple[str, ...] = field(default=())


def rank(
    kernel: Kernel,
    tiles: Iterable[Sequence[int]],
    *,
    parameters: Sequence[str] = ("t0", "t1", "k0"),
    instruction: str | None = None,
) -> list[RankedTile]:
    """The tiles, the fastest first and those that can't be at the end, in the order given.

    ``parameters`` says what the numbers of a tile are."""
    ranked = []
    for tile in tiles:
        sizes = tuple(int(size) for size in tile)
        if len(sizes) != len(parameters):
            raise InputError(f"tile {sizes} has {len(sizes)} sizes, expected {', '.join(parameters)}")
        fixed = dict(zip(parameters, sizes))
        plans = kernel.search(instruction, top=1, schedules=True, **fixed)
        if plans:
            ranked.append(RankedTile(sizes, plans[0].time_ns, plans[0]))
        else:
            why = kernel.feasible(instruction, explain=True, **fixed).reasons or (plans.refusal,)
            ranked.append(RankedTile(sizes, math.inf, None, why))
    return sorted(ranked, key=lambda each: each.time_ns)
