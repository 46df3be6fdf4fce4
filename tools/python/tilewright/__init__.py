"""Which tilings of a GPU kernel are feasible, why the others are not, and which will be fastest.

>>> import tilewright
>>> plans = tilewright.suggest("gemm", m=4096, n=4096, k=4096, dtype="bf16", device="h100")
>>> plans[0]["warps"] in (4, 8, 16)
True

Sizes are in elements, times in ns, bytes in bytes, clocks in GHz."""

from tilewright import errors
from tilewright._kernel import Kernel, Parameter
from tilewright._model import Device, Model, family, load, parse, suggest
from tilewright._native import version as _version
from tilewright._plans import Feasibility, Plan, Plans
from tilewright._session import calibrations, devices, families
from tilewright.errors import (
    BudgetSpentError,
    InputError,
    InternalError,
    TilewrightError,
    UnsupportedError,
)

__version__ = _version()

__all__ = [
    "BudgetSpentError",
    "Device",
    "Feasibility",
    "InputError",
    "InternalError",
    "Kernel",
    "Model",
    "Parameter",
    "Plan",
    "Plans",
    "TilewrightError",
    "UnsupportedError",
    "calibrations",
    "devices",
    "errors",
    "families",
    "family",
    "load",
    "parse",
    "suggest",
]
