"""Models of JAX functions, as a GPU would be given them. No GPU is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright._model import Model, parse

__all__ = ["model_of"]


def model_of(function: Callable[..., Any], *args: Any, platform: str = "cuda", **kwargs: Any) -> Model:
    """The model of ``function`` for arguments like these: arrays or ``jax.ShapeDtypeStruct``.

    ``function`` may be jitted already. It is lowered for ``platform``, not for the machine that this
    runs on, so that it is the program of a GPU; nothing is compiled or run."""
    import jax  # type: ignore[import-not-found,unused-ignore]

    jitted = function if hasattr(function, "trace") else jax.jit(function)
    lowered = jitted.trace(*args, **kwargs).lower(lowering_platforms=(platform,))
    name = getattr(function, "__name__", "function")
    return parse(lowered.as_text(debug_info=True), name=f"{name}.mlir")
