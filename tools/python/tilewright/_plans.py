"""Plans: tile sizes and a schedule, with a predicted time where they were priced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tilewright._session import INSTRUCTIONS


@dataclass(frozen=True)
class Plan:
    """One plan. ``plan["t0"]`` is a size in elements, ``plan["warps"]`` a number of the schedule."""

    values: dict[str, int]
    instruction: str
    time_ns: float = float("nan")
    """Predicted time in ns; nan if it was not priced."""
    limiter: str = ""
    """What limits it: "tensor", "DRAM", "L2", "issue", …"""

    def __getitem__(self, parameter: str) -> int:
        return self.values[parameter]

    def __str__(self) -> str:
        sizes = " ".join(f"{name}={value}" for name, value in self.values.items())
        return f"{sizes} instruction={self.instruction}"


@dataclass(frozen=True)
class Plans(Sequence[Plan]):
    """Plans of one kernel as arrays; also a sequence of :class:`Plan`."""

    columns: tuple[str, ...]
    """Names of the parameters, in the order of ``values``."""
    values: NDArray[np.int64]
    """Of shape (plans, parameters): sizes in elements, and the schedule."""
    instruction_numbers: NDArray[np.int32]
    times_ns: NDArray[np.float64]
    """Predicted times in ns; nan of plans that were not priced."""
    limiters: tuple[str, ...] = ()
    feasible_count: int = 0
    """Feasible plans that there are, listed or not."""
    priced_count: int = 0
    is_complete: bool = False
    """Everything feasible is listed, or was priced by the search."""
    refusal: str = field(default="", repr=False)
    """Why there is no plan."""

    @property
    def instructions(self) -> list[str]:
        return [INSTRUCTIONS[number] for number in self.instruction_numbers]

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Plan: ...
    @overload
    def __getitem__(self, index: slice) -> list[Plan]: ...
    def __getitem__(self, index: int | slice) -> Plan | list[Plan]:
        if isinstance(index, slice):
            return [self._plan(i) for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"plan {index} of {len(self)}")
        return self._plan(index % len(self))

    def __iter__(self) -> Iterator[Plan]:
        return (self._plan(i) for i in range(len(self)))

    def _plan(self, index: int) -> Plan:
        return Plan(
            dict(zip(self.columns, (int(value) for value in self.values[index]))),
            INSTRUCTIONS[self.instruction_numbers[index]],
            float(self.times_ns[index]),
            self.limiters[index] if index < len(self.limiters) else "",
        )

    def table(self) -> dict[str, list[Any]]:
        """Columns by name, as ``pandas.DataFrame`` takes them."""
        columns: dict[str, list[Any]] = {
            name: self.values[:, i].tolist() for i, name in enumerate(self.columns)
        }
        columns["instruction"] = self.instructions
        columns["time_ns"] = self.times_ns.tolist()
        if self.limiters:
            columns["limiter"] = list(self.limiters)
        return columns


@dataclass(frozen=True)
class Feasibility:
    """The answer to "does it fit?": true only if it is yes."""

    verdict: str
    """ "yes", "no", or "unknown" where a search or proof ran out of its budget."""
    reasons: tuple[str, ...] = ()
    """A smallest set of constraints and choices that conflict, in words."""

    def __bool__(self) -> bool:
        return self.verdict == "yes"

    def __str__(self) -> str:
        return "\n".join((self.verdict, *(f"  because {reason}" for reason in self.reasons)))
