#!/usr/bin/env python3
"""Prices the layouts of plans against the inferred ones, by the same prices.

Usage: scripts/layout_gains.py BIN PLAN.json...    plans as `tilewright explore --out` writes them

Prints a line for each plan whose own layouts cost more, and the total.
"""
import json
import subprocess
import sys


def answer(binary, plan):
    """The document of `layout --check`, or what the command says instead."""
    run = subprocess.run([binary, "layout", plan, "--check", "--json"], capture_output=True, text=True)
    return json.loads(run.stdout) if run.stdout else run.stderr.strip()


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    own = inferred = floor = 0.0
    counts = {"cheaper": 0, "equal": 0, "not compared": 0}
    for plan in sys.argv[2:]:
        document = answer(sys.argv[1], plan)
        if isinstance(document, str) or document["outcome"] != "found" or not document["given"] \
                or document["not_given"]:
            counts["not compared"] += 1
            why = document if isinstance(document, str) else document["reasons"] or document["not_given"]
            print(f"{plan}: not compared: {why}")
            continue
        given, best = document["given"]["cost_clocks"], document["inferred"]["cost_clocks"]
        assert best <= given, plan
        own, inferred, floor = own + given, inferred + best, floor + document["floor_clocks"]
        counts["cheaper" if best < given else "equal"] += 1
        if best < given:
            print(f"{plan}: {given:g} clocks a CTA, inferred {best:g}")
    print(f"{sum(counts.values())} plans: "
          + ", ".join(f"{number} {name}" for name, number in counts.items()))
    print(f"a CTA of each: {own:g} clocks, inferred {inferred:g}, floor {floor:g}")


if __name__ == "__main__":
    main()
