#!/usr/bin/env python3
"""What the pruner for Triton's autotuner keeps of measured products, and what that costs.

Usage: PYTHONPATH=build/release/python scripts/pruned_measurements.py [FILE.csv.gz] [DEVICE]
Each problem of the file (default: the bundled products on an H100, which the bundled calibration was
fitted to) is pruned as the autotuner would have it pruned; the fastest that is left is compared with
the fastest that was measured."""

import collections
import csv
import gzip
import math
import sys
from dataclasses import dataclass

from tilewright.adaptors.triton import pruner


@dataclass
class Config:
    kwargs: dict
    num_warps: int
    num_stages: int
    time_ns: float


def problems(path):
    found = collections.defaultdict(list)
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            tiles = {key.upper().replace("TILE", "BLOCK"): row[key] for key in ("tile_m", "tile_n", "tile_k")}
            tiles.update({key.upper(): row[key] for key in ("split_k", "group_m") if row.get(key)})
            time = math.inf if row.get("error") else float(row["time_ns"])
            key = (row["kernel"], row["dtype"], row["d0"], row["d1"], row["d2"])
            found[key].append(Config(tiles, int(row["warps"]), int(row["stages"]), time))
    return found


def main(path="datasets/measurements/h100-sxm/gemm.csv.gz", device="h100"):
    measured = problems(path)
    for slowest in (1.2, 1.3, 1.5, 2.0):
        kept = every = 0
        lost = []
        for (kernel, dtype, m, n, k), configs in measured.items():
            arguments = {"m": m, "n": n, "k": k, "dtype": dtype}
            left = pruner(kernel, device=device, slowest=slowest, arguments=arguments)(configs, {})
            kept += len(left)
            every += len(configs)
            lost.append(min(c.time_ns for c in left) / min(c.time_ns for c in configs) - 1)
        print(
            f"slowest={slowest}: {len(measured)} problems, {100 * kept / every:.0f} % of {every} configurations "
            f"kept; the fastest of them is slower by {100 * sum(lost) / len(lost):.2f} %, at worst {100 * max(lost):.1f} %"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
