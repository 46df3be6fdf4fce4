#!/usr/bin/env python3
"""What settings of copying loops save of a model's kernels, as `explore --pipeline N --out DIR` says.

Usage: scripts/pipeline_gains.py BIN DIR...

Prints a line for each kernel that gets other settings, the totals, and what slots other than the
plans' stages would still save of their loops.
"""
import json
import pathlib
import subprocess
import sys


def chosen(binary, plan, device):
    """The document of `program --pipeline` of a plan."""
    run = subprocess.run([binary, "program", plan, "--pipeline", "--device", device, "--json"],
                         capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    kernels = copying = other = more_slots = 0
    time = gain = 0.0
    loops = {"given": 0, "settings": 0, "slots": 0}
    for folder in map(pathlib.Path, sys.argv[2:]):
        document = json.loads((folder / "explore.json").read_text())
        for model in document["models"]:
            for kernel in model["kernels"]:
                kernels += 1
                runs = kernel["trip_count"]
                time += runs * kernel["time_ns"]
                saving = kernel["pipeline"]
                if not saving["loops"]:
                    continue
                copying += 1
                given = sum(loop["given"]["loop_clk"] for loop in saving["loops"])
                best = sum(loop["best"]["loop_clk"] for loop in saving["loops"])
                if saving["is_recorded"]:
                    other += 1
                    gain += runs * saving["gain_ns"]
                    print(f"{model['model']} {kernel['name']}: {given} clk a CTA, with other settings "
                          f"{best}: {saving['gain_ns'] / 1e3:.3g} of {kernel['time_ns'] / 1e3:.3g} us at most")
                free = best
                if kernel.get("plan_file"):
                    answer = chosen(sys.argv[1], folder / kernel["plan_file"], document["device"]["name"])
                    free = sum(loop["best"]["loop_clk"] for loop in answer["loops"])
                more_slots += free < best
                loops["given"] += given
                loops["settings"] += best
                loops["slots"] += min(free, best)
    print(f"{kernels} kernels, {time / 1e6:.4g} ms: {copying} have loops that copy, {other} of them get other settings: "
          f"{gain / 1e3:.4g} us at most")
    print(f"a CTA's loops of each: {loops['given']} clk, with these settings {loops['settings']}; with other slots, "
          f"too, {loops['slots']} ({more_slots} kernels)")


if __name__ == "__main__":
    main()
