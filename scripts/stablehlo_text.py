#!/usr/bin/env python3
"""Writes StableHLO as the text that `tilewright` reads.

Takes MLIR bytecode of any of the dialects that JAX registers, portable artifacts (VHLO), and text.

  scripts/stablehlo_text.py model.mlirbc > model.mlir
  scripts/stablehlo_text.py --generic - < model.mlirbc

Needs jaxlib from PyPI (python3 -m pip install jaxlib).
"""
import argparse
import sys


def fail(message):
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)


def load(ir, stablehlo, data, name):
    """The module of a text, of bytecode or of a portable artifact."""
    try:
        module = ir.Module.parse(data)
        # Of a portable artifact the ops are those of VHLO.
        if not any(op.operation.name.startswith("vhlo.") for op in module.body.operations):
            return module
        return stablehlo.deserialize_portable_artifact(ir.Context.current, data)
    except Exception as problem:  # jaxlib raises several kinds
        fail(f"{name}: {problem}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="MLIR bytecode or text; - is standard input")
    parser.add_argument("--generic", action="store_true", help="the generic form of all ops")
    parser.add_argument("--locations", action="store_true", help="with names and source lines")
    arguments = parser.parse_args()
    try:
        from jaxlib.mlir import ir
        from jaxlib.mlir._mlir_libs import _jax_mlir_ext
        from jaxlib.mlir.dialects import chlo, stablehlo
    except ImportError as missing:
        fail(f"{missing}; install jaxlib: python3 -m pip install jaxlib")
    try:
        if arguments.file == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(arguments.file, "rb") as file:
                data = file.read()
    except OSError as problem:
        fail(problem)

    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    with context:
        module = load(ir, stablehlo, data, arguments.file)
        print(module.operation.get_asm(print_generic_op_form=arguments.generic,
                                       enable_debug_info=arguments.locations))


if __name__ == "__main__":
    main()
