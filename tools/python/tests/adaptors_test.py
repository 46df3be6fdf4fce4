"""The adaptors, with stand-ins for what they adapt to."""

import dataclasses
import math
import unittest

import tilewright
from tilewright.adaptors import cutlass, jax, triton


@dataclasses.dataclass
class Config:
    kwargs: dict
    num_warps: int = 4
    num_stages: int = 3


def configs():
    return [
        Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, w, s)
        for m in (16, 64, 128, 256)
        for n in (16, 64, 128, 256)
        for k in (32, 128)
        for w in (4, 8)
        for s in (2, 5)
    ]


ARGUMENTS = {"m": "M", "n": "N", "k": "K", "dtype": "bf16"}
SIZES = {"M": 4096, "N": 4096, "K": 4096, "a_ptr": object()}


class Triton(unittest.TestCase):
    def test_what_cannot_fit_or_win_goes(self):
        prune = triton.pruner("gemm", device="h100", arguments=ARGUMENTS, slowest=1.3)
        every = configs()
        kept = prune(every, SIZES)
        self.assertTrue(0 < len(kept) < len(every) // 2)
        self.assertEqual([c for c in every if c in kept], kept)  # in order
        # Five stages of 256 x 128 and 128 x 256 are 655360 B of shared memory.
        self.assertNotIn(Config({"BLOCK_M": 256, "BLOCK_N": 256, "BLOCK_K": 128}, 8, 5), kept)
        self.assertNotIn(Config({"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}, 4, 2), kept)

    def test_the_fastest_stay_whatever_they_take(self):
        prune = triton.pruner("gemm", device="h100", arguments=ARGUMENTS, slowest=1, at_least=7)
        self.assertGreaterEqual(len(prune(configs(), SIZES)), 7)
        self.assertEqual(prune([], SIZES), [])

    def test_where_nothing_fits_all_stay(self):
        prune = triton.pruner("gemm", device="h100", arguments=ARGUMENTS)
        huge = [Config({"BLOCK_M": 256, "BLOCK_N": 256, "BLOCK_K": 256}, 8, s) for s in (4, 5)]
        self.assertEqual(prune(huge, SIZES), huge)

    def test_a_model_of_ones_own(self):
        def model(given):
            return tilewright.family("softmax2d", m=given["rows"], n=given["columns"], dtype="f32")

        prune = triton.pruner(model, device="h100", tiles={"t0": "ROWS"}, at_least=1)
        every = [Config({"ROWS": rows}, w) for rows in (1, 2, 64) for w in (1, 4, 8)]
        kept = prune(every, {"rows": 4096}, columns=1024)
        self.assertTrue(0 < len(kept) < len(every))

    def test_errors_are_the_models(self):
        prune = triton.pruner("gemm", device="h100", arguments={"m": "M"})
        with self.assertRaisesRegex(tilewright.InputError, "gemm needs n"):
            prune(configs(), SIZES)
        with self.assertRaises(tilewright.InputError):
            triton.pruner("gemm", device="h100", slowest=0.5)


class Cutlass(unittest.TestCase):
    def test_tiles_in_order_with_reasons(self):
        kernel = tilewright.family("gemm", m=8192, n=8192, k=8192, dtype="bf16").kernel("h100")
        tiles = [(512, 512, 128), (64, 64, 64), (128, 256, 64)]
        ranked = cutlass.rank(kernel, tiles, instruction="wgmma")
        self.assertEqual([each.tile for each in ranked], [tiles[2], tiles[1], tiles[0]])
        self.assertTrue(math.isinf(ranked[-1].time_ns))
        self.assertTrue(ranked[-1].reasons)
        self.assertEqual(ranked[0].plan["t1"], 256)
        with self.assertRaises(ValueError):
            cutlass.rank(kernel, [(64, 64)])


class FakeJitted:
    """Of jax.jit's result what the adaptor uses."""

    __name__ = "layer"

    def trace(self, *args, **kwargs):
        self.args = args, kwargs
        return self

    def lower(self, lowering_platforms):
        self.platforms = lowering_platforms
        return self

    def as_text(self, debug_info):
        with open("tests/cases/46-window-without-padding.mlir") as file:
            return file.read()


class Jax(unittest.TestCase):
    def setUp(self):
        try:
            import jax as _  # noqa: F401
        except ImportError:
            self.skipTest("jax is not installed")

    def test_a_function_is_lowered_for_a_gpu(self):
        import jax as jax_itself
        import jax.numpy as jnp

        x = jax_itself.ShapeDtypeStruct((256, 512), jnp.bfloat16)
        model = jax.model_of(lambda x: jax_itself.nn.softmax(x, axis=-1), x)
        self.assertIn("bf16[256,512]", model.text())
        self.assertGreater(model.explore("h100", budget=50)["models"][0]["total_time_ns"], 0)


class JaxStandIn(unittest.TestCase):
    def test_asks_for_a_gpu(self):
        import sys
        import types

        had = sys.modules.get("jax")
        sys.modules["jax"] = types.ModuleType("jax")
        try:
            jitted = FakeJitted()
            model = jax.model_of(jitted, 1, flag=2)
        finally:
            sys.modules.pop("jax")
            if had is not None:
                sys.modules["jax"] = had
        self.assertEqual(jitted.args, ((1,), {"flag": 2}))
        self.assertEqual(jitted.platforms, ("cuda",))
        self.assertIn("HloModule", model.text())


if __name__ == "__main__":
    unittest.main()
