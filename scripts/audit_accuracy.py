#!/usr/bin/env python3
"""Accuracy of `tilewright audit` on the bundled dumps and the kernels that were measured of them, as
Markdown: by kind, by model, and with the two constants of sequences chosen on nine models and tried
on the tenth. Usage: scripts/audit_accuracy.py [BUILD_FOLDER]"""
import glob
import itertools
import json
import math
import os
import random
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
program = os.path.join(sys.argv[1] if len(sys.argv) > 1 else "build/release", "bin", "tilewright")
lists = "datasets/measurements/h100-sxm/models"
models = {os.path.basename(path).split(".")[0]: path
          for path in sorted(glob.glob("datasets/models/*.xla_optimized.hlo.txt"))}
convolution = "cuDNN convolution"
head = ("| kernels | n | median % (95 %) | p90 % | bias % (95 %) | time-weighted % | within ± % |\n"
        "|---|---:|---:|---:|---:|---:|---:|")


def audit(model, *options):
    command = [program, "audit", models[model], "--measured", f"{lists}/{model}.kernels.csv",
               "--no-best", "--json", *options]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode not in (0, 1):
        sys.exit(result.stderr)
    return json.loads(result.stdout)


def rows(document):
    """(kind, measured, predicted, spread) of what is measured and priced."""
    return [(k["kind"], k["measured_ns"], k["time_ns"], k["sigma_ln"]) for k in document["kernels"]
            if k.get("measured_ns") and k.get("time_ns")]


def numbers(some):
    errors = sorted(abs(p / t - 1) for _, t, p, _ in some)
    bias = math.exp(sum(math.log(p / t) for _, t, p, _ in some) / len(some)) - 1
    weighted = sum(abs(p - t) for _, t, p, _ in some) / sum(t for _, t, _, _ in some)
    return errors[len(errors) // 2], errors[int(0.9 * (len(errors) - 1))], bias, weighted


def interval(by_model, which, draws=1000):
    """95 % of resamples of whole models."""
    source, names, values = random.Random(1), sorted(by_model), []
    for _ in range(draws):
        some = [r for _ in names for r in by_model[source.choice(names)]]
        if some:
            values.append(numbers(some)[which])
    values.sort()
    return values[int(0.025 * len(values))], values[int(0.975 * len(values))]


def line(name, by_model):
    some = [r for each in by_model.values() for r in each]
    median, p90, bias, weighted = numbers(some)
    low, high = interval(by_model, 0)
    under, over = interval(by_model, 2)
    inside = sum(abs(math.log(p / t)) <= sigma for _, t, p, sigma in some) / len(some)
    print(f"| {name} | {len(some)} | {100 * median:.1f} ({100 * low:.1f}–{100 * high:.1f}) | "
          f"{100 * p90:.1f} | {100 * bias:+.1f} ({100 * under:+.1f} to {100 * over:+.1f}) | "
          f"{100 * weighted:.1f} | {100 * inside:.0f} |")


def table(documents):
    print(head)
    by_model = {m: rows(d) for m, d in documents.items()}
    for kind in sorted({r[0] for some in by_model.values() for r in some}):
        chosen = {m: [r for r in some if r[0] == kind] for m, some in by_model.items()}
        line(kind, {m: some for m, some in chosen.items() if some})
    without = {m: [r for r in some if r[0] != convolution] for m, some in by_model.items()}
    line("**all but convolutions**", without)


def totals(documents):
    print("| model | kernels | measured us | predicted us | ± % | difference % | unmatched |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for model, d in documents.items():
        print(f"| {model} | {len(d['kernels'])} | {d['measured_ns'] / 1e3:.1f} | "
              f"{d['time_ns'] / 1e3:.1f} | {100 * math.expm1(d['sigma_ln']):.0f} | "
              f"{100 * (d['time_ns'] / d['measured_ns'] - 1):+.1f} | "
              f"{len(d['unmatched_rows']) + len(d['unmatched_ops'])} |")


def left_out():
    """The constants that are best on all other models price each model."""
    grid = list(itertools.product(((0.4, 0.7), (0.5, 0.8), (0.6, 0.9)), (200, 350, 500)))
    found = {}
    for shares, start in grid:
        for model in models:
            found[shares, start, model] = [
                r for r in rows(audit(model, "--l2-shares", str(shares[0]), str(shares[1]),
                                      "--warm-start", str(start))) if r[0] != convolution]
    chosen, used = {}, {}
    for model in models:
        def loss(point):
            others = [r for other in models if other != model for r in found[(*point, other)]]
            return sum(min(1, abs(math.log(p / t))) for _, t, p, _ in others) / len(others)
        used[model] = min(grid, key=loss)
        chosen[model] = found[(*used[model], model)]
    print(head)
    line("all but convolutions", chosen)
    often = max(set(used.values()), key=list(used.values()).count)
    print(f"\nChosen {list(used.values()).count(often)} times of {len(models)}: shares of L2 from "
          f"{often[0][0]} to {often[0][1]}, {often[1]} ns of the launch.")


if __name__ == "__main__":
    print("From the dump alone:\n")
    alone = {model: audit(model) for model in models}
    table(alone)
    print("\nWith the registers and launch sizes of the list (`--as-measured`):\n")
    table({model: audit(model, "--as-measured") for model in models})
    print("\nTotals, from the dump alone:\n")
    totals(alone)
    print("\nThe two constants of sequences chosen on the other models:\n")
    left_out()
