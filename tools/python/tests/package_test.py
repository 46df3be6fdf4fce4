"""The package as a user has it: answers, types of errors, arrays."""

import math
import pickle
import threading
import unittest

import numpy as np
import tilewright
from tilewright import errors


def gemm(size=512, device="h100"):
    return tilewright.family("gemm", m=size, n=size, k=size, dtype="bf16").kernel(device)


class Answers(unittest.TestCase):
    def test_suggested_plans_are_feasible(self):
        kernel = gemm()
        plans = tilewright.suggest(
            "gemm", m=512, n=512, k=512, dtype="bf16", device="H100", top=3
        )
        self.assertEqual(len(plans), 3)
        for plan in plans:
            self.assertTrue(kernel.feasible(plan.instruction, **plan.values), str(plan))
            self.assertTrue(math.isfinite(plan.time_ns))
            self.assertGreaterEqual(plan.time_ns, kernel.lower_bound_ns)

    def test_no_has_its_reasons(self):
        answer = gemm().feasible("wgmma", t0=128, t1=256, k0=128, warps=8, stages=3)
        self.assertEqual(answer.verdict, "no")
        self.assertIn("shared memory a CTA, of at most 232448 B", str(answer))
        quick = gemm().feasible(
            "wgmma", explain=False, t0=128, t1=256, k0=128, warps=8, stages=3
        )
        self.assertEqual((quick.verdict, quick.reasons), ("no", ()))

    def test_nearest_is_feasible(self):
        kernel = gemm()
        nearest = kernel.nearest("wgmma", t0=128, t1=256, k0=128, warps=8, stages=3)
        self.assertEqual(set(nearest), set(kernel.columns))
        self.assertTrue(kernel.feasible("wgmma", **nearest))

    def test_prices_are_those_of_single_plans(self):
        kernel = gemm()
        plans = kernel.enumerate("mma.sync", warps=4, split_k=1, group_m=1, k0=64)
        times = kernel.price(plans.values, "mma.sync")
        for i in (0, len(plans) // 2, len(plans) - 1):
            self.assertEqual(kernel.price(plans.values[i : i + 1], "mma.sync")[0], times[i])
            self.assertEqual(kernel.estimate(plans[i])["price"]["time_ns"], times[i])

    def test_any_array_of_whole_numbers_is_taken(self):
        kernel = gemm()
        plan = [128, 128, 64, 4, 3, 1, 1]
        expected = kernel.price([plan])
        for rows in (
            np.array([plan], np.int32),
            np.array([plan], np.uint8),
            np.asfortranarray([plan, plan])[:1],
            np.array([plan * 2], np.int64)[:, :7],
            (tuple(plan),),
        ):
            np.testing.assert_array_equal(kernel.price(rows), expected)
        self.assertEqual(kernel.price(np.zeros((0, 7), np.int64)).shape, (0,))
        frozen = np.array([plan])
        frozen.flags.writeable = False
        np.testing.assert_array_equal(kernel.price(frozen), expected)

    def test_a_model_is_explored(self):
        document = tilewright.load("datasets/models/dlrm.hlo.txt").explore("h100", budget=50)
        self.assertEqual(document["schema"], "tilewright.explore")
        self.assertGreater(document["models"][0]["total_time_ns"], 0)
        text = tilewright.load("tests/cases/two-sums.hlo.txt").text()
        self.assertEqual(tilewright.parse(text).text(), text)
        self.assertEqual(tilewright.parse(text.encode()).text(), text)

    def test_lists(self):
        self.assertIn("h100-sxm", [device["name"] for device in tilewright.devices()])
        self.assertTrue(all(each["example"] for each in tilewright.families()))
        self.assertTrue(tilewright.calibrations())
        device = tilewright.Device("H100")
        self.assertEqual((device.name, device.units["dram_bandwidth"]), ("h100-sxm", "GB/s"))

    def test_plans_are_a_sequence_and_a_table(self):
        plans = gemm().search(top=4)
        self.assertEqual(plans[-1], plans[3])
        self.assertEqual([str(plan) for plan in plans[1:3]], [str(plans[1]), str(plans[2])])
        self.assertEqual([plan.time_ns for plan in plans], plans.table()["time_ns"])
        with self.assertRaises(IndexError):
            plans[4]
        self.assertEqual(pickle.loads(pickle.dumps(plans[0])), plans[0])


class Errors(unittest.TestCase):
    def test_are_typed_with_the_text_of_the_command_line(self):
        with self.assertRaisesRegex(errors.InputError, r"m\.hlo\.txt:2:"):
            tilewright.parse("HloModule m\nENTRY", name="m.hlo.txt")
        with self.assertRaisesRegex(ValueError, "no device 'h1000'; known: a100"):
            tilewright.Device("h1000")
        with self.assertRaisesRegex(errors.InputError, "did you mean 'gemm'"):
            tilewright.family("gem", m=1)
        with self.assertRaisesRegex(errors.UnsupportedError, "bytecode"):
            tilewright.parse(b"ML\xefR\x0dStableHLO_v1.0.0\x00", name="m.mlirbc")
        with self.assertRaisesRegex(errors.InputError, "which opset"):
            tilewright.parse(b"\x08\x07\x12\x07pytorch\x1a\x031.0:\x00", name="m.onnx")
        with self.assertRaisesRegex(errors.InputError, "needs k, as in"):
            tilewright.family("gemm", m=1, n=1, dtype="bf16")

    def test_of_numbers(self):
        kernel = gemm()
        for values in ({"t9": 8}, {"t0": 0}, {"t0": -1}, {"t0": 1.5}, {"t0": "8"}, {"t0": 2**63}):
            with self.assertRaises(errors.InputError):
                kernel.feasible(**values)
        for rows in (
            [[1, 2]],
            [1, 2, 3, 4, 5, 6, 7],
            [[128.0, 128, 64, 4, 3, 1, 1]],
            [[0, 128, 64, 4, 3, 1, 1]],
            [["a"] * 7],
            np.full((1, 7), 2**64 - 1, np.uint64),
        ):
            with self.assertRaises(errors.InputError):
                kernel.price(rows)
        for call in (
            lambda: kernel.search(top=0),
            lambda: kernel.enumerate(limit=0),
            lambda: kernel.feasible("hmma", t0=8),
            lambda: kernel.price([[128, 128, 64, 4, 3, 1, 1]], compiler="nvcc"),
            lambda: kernel.price([[128, 128, 64, 4, 3, 1, 1]], "fma", compiler="triton"),
            lambda: kernel.estimate({"t0": 8}),
            lambda: kernel.emit(kernel.search(top=1)[0], "sm_1"),
            lambda: tilewright.load("datasets/models/dlrm.hlo.txt").explore("h100", jobs=0),
        ):
            with self.assertRaises(errors.InputError):
                call()

    def test_every_status_has_its_type(self):
        for status, expected in ((2, ValueError), (3, errors.UnsupportedError),
                                 (4, errors.BudgetSpentError), (7, MemoryError),
                                 (5, errors.InternalError), (70, errors.InternalError)):  # fmt: skip
            self.assertIsInstance(errors.exception_of(status, "error: x"), expected)


class Threads(unittest.TestCase):
    def test_the_interpreter_runs_on(self):
        kernel = gemm()
        rows = np.tile([[128, 128, 64, 4, 3, 1, 1]], (200_000, 1))
        results = []

        def price():
            results.append(kernel.price(rows))

        threads = [threading.Thread(target=price) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for times in results:
            np.testing.assert_array_equal(times, results[0])
        self.assertEqual(len(results), 3)


if __name__ == "__main__":
    unittest.main()
