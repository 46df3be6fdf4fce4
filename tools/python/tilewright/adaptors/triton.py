"""Prunes what Triton's autotuner would time: what can't be launched, and what can't win."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from tilewright._model import Device, Model, family
from tilewright.errors import InputError

__all__ = ["pruner"]


class Config(Protocol):
    """What is used of ``triton.Config``."""

    kwargs: dict[str, Any]
    num_warps: int
    num_stages: int


ConfigT = TypeVar("ConfigT", bound=Config)

#: What tiles are usually called, by parameter.
TILES = {
    "t0": "BLOCK_M",
    "t1": "BLOCK_N",
    "k0": "BLOCK_K",
    "split_k": "SPLIT_K",
    "group_m": "GROUP_M",
}


def pruner(
    kernel_family: str | Callable[[Mapping[str, Any]], Model],
    *,
    device: str | Device,
    arguments: Mapping[str, str | int] | None = None,
    tiles: Mapping[str, str] = TILES,
    slowest: float = 1.5,
    at_least: int = 4,
) -> Callable[..., list[Any]]:
    """A function for ``prune_configs_by={"early_config_prune": …}`` of ``triton.autotune``.

    ``kernel_family`` is a bundled family, whose ``arguments`` are numbers, words, or names of the
    kernel's arguments: ``{"m": "M", "n": "N", "k": "K", "dtype": "bf16"}``. It may also be a function
    that makes a model of them. ``tiles`` says which key of ``Config.kwargs`` is which parameter.

    Kept are configurations that can be launched and whose predicted time is at most ``slowest`` times
    the shortest, and in any case the ``at_least`` fastest. Where none is predicted to be launchable,
    all are kept: the autotuner has the last word."""
    if slowest < 1 or at_least < 1:
        raise InputError(f"slowest is {slowest} and at_least {at_least}; both must be at least 1")
    target = device if isinstance(device, Device) else Device(device)

    def prune(
        configs: Sequence[ConfigT], named_args: Mapping[str, Any], **kwargs: Any
    ) -> list[ConfigT]:
        given = {**named_args, **kwargs}
        if callable(kernel_family):
            model = kernel_family(given)
        else:
            model = family(
                kernel_family,
                **{key: given.get(str(word), word) for key, word in (arguments or {}).items()},
            )
        # The autotuner times with flushed caches.
        kernel = model.kernel(target, cache="flushed")
        rows = [
            [_value(config, parameter.name, tiles, parameter.extent)
             for parameter in kernel.parameters]
            for config in configs
        ]  # fmt: skip
        times = kernel.price(rows, compiler="triton").tolist() if rows else []
        order = sorted((i for i in range(len(times)) if math.isfinite(times[i])), key=times.__getitem__)
        if not order:
            return list(configs)
        limit = slowest * times[order[0]]
        kept = {i for rank, i in enumerate(order) if rank < at_least or times[i] <= limit}
        return [config for i, config in enumerate(configs) if i in kept]

    return prune


def _value(config: Config, parameter: str, tiles: Mapping[str, str], extent: int) -> int:
    if parameter == "warps":
        return config.num_warps
    if parameter == "stages":
        return max(1, config.num_stages)
    key = tiles.get(parameter)
    if key is not None and key in config.kwargs:
        return int(config.kwargs[key])
    if parameter in ("split_k", "group_m"):
        return 1
    return extent  # a dim without a tile is whole
