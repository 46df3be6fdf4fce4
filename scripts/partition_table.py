#!/usr/bin/env python3
"""What choosing kernels together gains on the bundled models, as Markdown: the greedy kernels, ours,
XLA's own kernels with our plans for them, and as they were priced and measured.
Usage: scripts/partition_table.py [BUILD_FOLDER]"""
import csv
import glob
import json
import os
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
program = os.path.join(sys.argv[1] if len(sys.argv) > 1 else "build/release", "bin", "tilewright")
measured = "datasets/measurements/h100-sxm/models"


def answer(*arguments):
    result = subprocess.run([program, *arguments, "--device", "h100", "--json"],
                            capture_output=True, text=True)
    if result.returncode not in (0, 1):
        sys.exit(result.stderr)
    return json.loads(result.stdout)


def ours_of(kernel):
    """Our plan of a kernel that XLA made; its own time where there is none. With how often it runs."""
    best = kernel.get("best_plan")
    return (best or kernel)["time_ns"] * kernel["trips"]


def line(path):
    name = os.path.basename(path).split(".")[0]
    dump = path.replace(".hlo.txt", ".xla_optimized.hlo.txt")
    chosen = answer("explore", path)["models"][0]
    greedy = answer("explore", path, "--greedy")["models"][0]
    audit = answer("audit", dump)
    kernels = [k for k in audit["kernels"] if k.get("time_ns")]
    without = sum(not k.get("best_plan") for k in kernels)
    with open(f"{measured}/{name}.kernels.csv", encoding="utf-8") as rows:
        ran = sum(float(row["time_ns"]) for row in csv.DictReader(rows))
    gap = chosen["alone_time_ns"] / chosen["partition_bound_ns"] - 1
    proof = "exact" if chosen["partition_is_optimal"] else f"{100 * gap:.1f} % above the bound"
    times = [greedy["total_time_ns"], chosen["total_time_ns"], sum(map(ours_of, kernels)),
             audit["time_ns"], ran]
    cells = [f"{time / 1e3:,.1f}" for time in times]
    return (f"| {name} | {len(greedy['kernels'])} | {len(chosen['kernels'])} | {len(kernels)} ({without}) | "
            f"{cells[0]} | {cells[1]} | {times[1] / times[0]:.2f} | {' | '.join(cells[2:])} | {proof} |")


def main():
    print("| model | kernels: greedy | chosen | XLA's (without a plan of ours) | greedy us | chosen us | "
          "of greedy | XLA's kernels, our plans us | XLA priced us | XLA measured us | choice |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|")
    for path in sorted(glob.glob("datasets/models/*.hlo.txt")):
        if ".xla_optimized." not in path:
            print(line(path), flush=True)


if __name__ == "__main__":
    main()
