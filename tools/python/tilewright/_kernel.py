"""One kernel of a model on a device."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tilewright import _native
from tilewright._plans import Feasibility, Plan, Plans
from tilewright._session import instruction_number
from tilewright.errors import InputError


@dataclass(frozen=True)
class Parameter:
    """A tile size or a number of the schedule."""

    name: str
    role: str
    """"parallel" (a dim of the result), "sequential" (a contracted or reduced dim), "schedule"."""
    extent: int
    """The largest value: the dim's elements."""


class Kernel:
    """One kernel of a model on a device, from :meth:`Model.kernel`.

    Parameters are given by name: ``t0``, ``t1``, … are tile sizes (elements) of the result's dims,
    ``k0``, … of contracted and ``r0``, … of reduced dims; ``warps``, ``stages``, ``split_k`` and
    ``group_m`` are the schedule. A tile over its dim stands for the whole dim. Calls may come from
    any thread; those to one kernel wait for each other, without the interpreter's lock."""

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle
        about = json.loads(_native.describe_kernel(handle))
        self.name: str = about["name"]
        self.kind: str = about["kind"]
        self.root_shape: str = about["root_shape"]
        self.instructions: tuple[str, ...] = tuple(about["instructions"])
        """Those that its dots can take on the device, the strongest first."""
        self.lower_bound_ns: float = about["lower_bound_ns"]
        """No kernel of these ops takes less, in ns."""
        self.parameters = tuple(
            Parameter(each["name"], each["role"], each["extent"]) for each in about["parameters"]
        )
        self.columns = tuple(parameter.name for parameter in self.parameters)

    def __repr__(self) -> str:
        return f"Kernel({self.name!r}, {self.root_shape}, parameters {', '.join(self.columns)})"

    def _numbers(self, given: Mapping[str, int]) -> NDArray[np.int64]:
        """Values in parameter order, 0 for what is free."""
        unknown = [name for name in given if name not in self.columns]
        if unknown:
            raise InputError(
                f"no parameter {unknown[0]!r}; the kernel has {', '.join(self.columns)}"
            )
        numbers = np.zeros(len(self.columns), np.int64)
        for i, name in enumerate(self.columns):
            if name in given:
                value = given[name]
                if not isinstance(value, (int, np.integer)) or not 1 <= value < 2**63:
                    raise InputError(f"{name} is {value!r}, allowed are whole numbers from 1")
                numbers[i] = value
        return numbers

    def feasible(
        self, instruction: str | None = None, *, explain: bool = True, **values: int
    ) -> Feasibility:
        """Can these values be completed to a plan that is right and fits the device?

        What is not given is free. Without ``explain`` a no comes without its reasons, which are a
        search and a proof away; a plan without free parameters is then answered in microseconds.

        >>> import tilewright
        >>> kernel = tilewright.family("gemm", m=4096, n=4096, k=4096, dtype="bf16").kernel("h100")
        >>> bool(kernel.feasible(t0=128, t1=128, k0=64))
        True
        >>> print(kernel.feasible("wgmma", t0=128, t1=256, k0=128, warps=8, stages=3))
        no
          because device: 295008 B of shared memory a CTA, of at most 232448 B: ...
          because chosen: t1 = 256
          because chosen: k0 = 128
          because chosen: stages = 3
        """
        verdict, why = _native.feasible(
            self._handle, instruction_number(instruction), self._numbers(values), explain
        )
        return Feasibility(("no", "yes", "unknown")[verdict], tuple(why.splitlines()))

    def nearest(self, instruction: str | None = None, **values: int) -> dict[str, int]:
        """The feasible values nearest to these, for all parameters. UnsupportedError: none is."""
        found = _native.nearest(
            self._handle, instruction_number(instruction), self._numbers(values)
        )
        return dict(zip(self.columns, found.tolist()))

    def enumerate(
        self, instruction: str | None = None, *, limit: int = 100_000, **fixed: int
    ) -> Plans:
        """Feasible plans, at most ``limit`` of them, without times. Tile sizes are powers of two and
        whole dims."""
        handle = _native.enumerate_plans(
            self._handle, instruction_number(instruction), self._numbers(fixed), _count(limit)
        )
        return self._plans(handle)

    def search(
        self,
        instruction: str | None = None,
        *,
        top: int = 5,
        budget: int = 2000,
        schedules: bool = True,
        **fixed: int,
    ) -> Plans:
        """The ``top`` fastest plans by predicted time, the fastest first. ``budget`` plans are priced
        in each of two passes. Without ``schedules`` there is one plan for each tile sizes."""
        if top < 1 or budget < 1:
            raise InputError(f"top is {top} and budget {budget}; both must be at least 1")
        handle = _native.search_plans(
            self._handle,
            instruction_number(instruction),
            self._numbers(fixed),
            top,
            budget,
            schedules,
        )
        return self._plans(handle)

    def price(
        self, values: ArrayLike, instruction: str | None = None, *, compiler: str | None = None
    ) -> NDArray[np.float64]:
        """Predicted times in ns of many plans of one instruction (None: the strongest).

        ``values`` has the shape (plans, parameters), in the order of ``columns``: sizes in elements.
        Infinity: can't be launched. Whether a plan is feasible otherwise is not looked at.
        ``compiler="triton"`` prices the kernels that Triton makes of these plans; it chooses the
        instruction, and its registers and shared memory decide what can be launched.

        >>> import tilewright
        >>> kernel = tilewright.family("gemm", m=4096, n=4096, k=4096, dtype="bf16").kernel("h100")
        >>> plans = kernel.enumerate("wgmma", k0=64, stages=3)
        >>> bool((kernel.price(plans.values, "wgmma") > 0).all())
        True
        """
        rows = np.asarray(values)
        if rows.size and not np.issubdtype(rows.dtype, np.integer):
            raise InputError(f"values are {rows.dtype}, and sizes are whole numbers")
        if rows.ndim != 2 or rows.shape[1] != len(self.columns):
            raise InputError(
                f"values have the shape {rows.shape}, expected (plans, {len(self.columns)}): "
                + ", ".join(self.columns)
            )
        if rows.dtype == np.uint64 and rows.size and rows.max() > np.iinfo(np.int64).max:
            raise InputError("values are over the range of 64-bit numbers")
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        if compiler is not None:
            if instruction is not None:
                raise InputError("a compiler chooses the instruction; give one of the two")
            return _native.price_as(self._handle, compiler, rows)
        return _native.price(self._handle, instruction_number(instruction), rows)

    def estimate(self, plan: Plan | Mapping[str, int], instruction: str | None = None) -> Any:
        """The price of one plan taken apart: ``price`` (``time_ns``, ``terms_ns``, ``limiter``,
        ``bytes``, error bars as ``sigma_ln``) and ``resources``; docs/formats.md has every field."""
        number, numbers = self._one(plan, instruction)
        return json.loads(_native.estimate(self._handle, number, numbers))

    def emit(
        self,
        plan: Plan | Mapping[str, int],
        target: str,
        instruction: str | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> str:
        """PTX of a plan for a target ("sm_90a"); ``folder`` gets a pack of it, as ``tilewright emit``
        writes one. UnsupportedError: there is no code for it, with the reason."""
        number, numbers = self._one(plan, instruction)
        return _native.emit_plan(
            self._handle, number, numbers, target, None if folder is None else os.fspath(folder)
        )

    def _one(
        self, plan: Plan | Mapping[str, int], instruction: str | None
    ) -> tuple[int, NDArray[np.int64]]:
        if isinstance(plan, Plan):
            return instruction_number(instruction or plan.instruction), self._numbers(plan.values)
        return instruction_number(instruction), self._numbers(plan)

    def _plans(self, handle: _native.Handle) -> Plans:
        values, instructions, times = _native.copy_plans(handle, len(self.columns))
        about = json.loads(_native.describe_plans(handle))
        return Plans(
            self.columns,
            values,
            instructions,
            times,
            tuple(about["limiters"]),
            about["feasible"],
            about["priced"],
            about["is_complete"],
            about["refusal"],
        )


def _count(limit: int) -> int:
    if limit < 1:
        raise InputError(f"limit is {limit}, and must be at least 1")
    return min(limit, 2**40)
