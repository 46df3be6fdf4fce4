#!/usr/bin/env python3
"""Writes the modules that tests read both as text and as protocol buffers.

Usage: make_protos.py             (needs jax from PyPI; run in this folder)

Every FILE.hlo.txt here is read by XLA, which writes it anew and as FILE.hlo.pb. `layer` and
`layer_cpu` are what JAX makes of the function below, before and after compilation for a CPU.
"""
import glob
import os

import jax
import jax.numpy as jnp
from jaxlib import _hlo


def layer(x, w, b):
    with jax.named_scope("mlp"):
        h = jax.nn.gelu(x @ w + b)
    with jax.named_scope("norm"):
        return (h - h.mean(-1, keepdims=True)) * jax.lax.rsqrt(h.var(-1, keepdims=True) + 1e-5)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


shapes = [(8, 16), (16, 32), (32,)]
lowered = jax.jit(layer).lower(*(jax.ShapeDtypeStruct(s, jnp.bfloat16) for s in shapes))
write("layer.hlo.txt", lowered.as_text(dialect="hlo", debug_info=True))
write("layer_cpu.hlo.txt", lowered.compile().as_text())
for path in sorted(glob.glob("*.hlo.txt")):
    with open(path) as file:
        text = file.read().replace(os.path.dirname(os.path.abspath(__file__)) + "/", "")
    module = _hlo.hlo_module_from_text(text)
    write(path, module.to_string())
    with open(path.replace(".hlo.txt", ".hlo.pb"), "wb") as file:
        file.write(module.as_serialized_hlo_module_proto())
