"""Models and devices."""

from __future__ import annotations

import json
import os
from typing import Any

from tilewright import _native
from tilewright._kernel import Kernel
from tilewright._plans import Plans
from tilewright._session import session
from tilewright.errors import InputError


class Device:
    """A device with a calibration. Tests of kernels take its name as well."""

    def __init__(self, name: str, calibration: str | None = None) -> None:
        self._handle = _native.find_device(session(), name, calibration)
        about = json.loads(_native.describe_device(self._handle))
        self.name: str = about["device"]["name"]
        self.calibration: str | None = about["calibration"]
        """Whose measurements the parameters are fitted to; None: what the description says."""
        self.numbers: dict[str, float] = {
            each["key"]: each["value"] for each in about["device"]["numbers"]
        }
        """By key; ``units`` has their units."""
        self.units: dict[str, str] = {
            each["key"]: each["unit"] for each in about["device"]["numbers"]
        }
        self.notes: list[str] = [each["text"] for each in about["notes"]]
        """What a reader of prices should know."""

    def __repr__(self) -> str:
        return f"Device({self.name!r}, calibration={self.calibration!r})"


class Model:
    """A module of ops, from :func:`load`, :func:`parse` or :func:`family`."""

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    def kernel(
        self, device: str | Device, root: str | None = None, *, cache: str = "warm"
    ) -> Kernel:
        """The kernel whose result is op ``root`` (None: the model's last).

        ``cache`` is what L2 holds when it starts: "warm" (the inputs that fit, as in a running
        model), "clean" or "flushed"."""
        return Kernel(_native.open_kernel(self._handle, _device(device)._handle, root, cache))

    def explore(
        self,
        device: str | Device,
        *,
        top: int = 5,
        budget: int = 2000,
        jobs: int = 1,
        cache: str = "warm",
    ) -> Any:
        """All kernels with their best plans: the document of ``tilewright explore --json``, with
        ``models[0]["kernels"]`` and times in ns (docs/formats.md)."""
        for name, number in (("top", top), ("budget", budget), ("jobs", jobs)):
            if number < 1:
                raise InputError(f"{name} is {number}, and must be at least 1")
        return json.loads(
            _native.explore(self._handle, _device(device)._handle, cache, top, budget, jobs)
        )

    def text(self) -> str:
        """The model as HLO text, which reads back to the same."""
        return _native.model_text(self._handle)


def _device(device: str | Device) -> Device:
    return device if isinstance(device, Device) else Device(device)


def load(path: str | os.PathLike[str], module: str | None = None) -> Model:
    """Reads a model file: HLO or StableHLO text, or an HLO proto, plain or gzip. ``module`` says
    which of several."""
    return Model(_native.import_file(session(), os.fspath(path), module))


def parse(text: str | bytes, name: str = "model", module: str | None = None) -> Model:
    """The same for text or bytes in memory; ``name`` stands in messages."""
    data = text.encode() if isinstance(text, str) else text
    return Model(_native.import_bytes(session(), name, data, module))


def family(name: str, /, **arguments: int | str) -> Model:
    """The kernel of a bundled family: ``family("gemm", m=4096, n=4096, k=4096, dtype="bf16")``.
    :func:`families` lists them."""
    words = [f"{key}={value}" for key, value in arguments.items()]
    return Model(_native.import_family(session(), name, " ".join(words)))


def suggest(
    name: str, /, *, device: str | Device, top: int = 5, cache: str = "warm", **arguments: int | str
) -> Plans:
    """The fastest plans of a bundled family on a device by predicted time, one for each tile sizes:
    what ``tilewright suggest`` shows.

    >>> import tilewright
    >>> best = tilewright.suggest("gemm", m=4096, n=4096, k=4096, dtype="bf16", device="h100")[0]
    >>> best.instruction
    'wgmma'
    """
    return family(name, **arguments).kernel(device, cache=cache).search(top=top, schedules=False)
