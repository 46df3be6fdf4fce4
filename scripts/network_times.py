#!/usr/bin/env python3
"""CPU time and memory of `explore` over files, as Markdown: a table, and how time grows with the ops
as a Mermaid chart. What explore says of a file that it can't read is an error.
Usage: scripts/network_times.py [--build FOLDER] [--chart] FILE..."""
import argparse
import json
import os
import resource
import subprocess
import sys

sys.stdout.reconfigure(line_buffering=True)


def run(program, path, *options):
    """Seconds of CPU time, MB and what was found, in a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        done = subprocess.run([program, "explore", path, "--device", "h100-sxm", "--jobs", "1",
                               "--fresh", "--json", *options], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.stderr.write(done.stderr)
            os._exit(1)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        model = json.loads(done.stdout)["models"][0]
        answer = {"seconds": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024,
                  "ops": model["ops"], "kernels": len(model["kernels"]),
                  "us": model["alone_time_ns"] / 1e3}
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as text:
        answer = text.read()
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(f"{path}: explore failed")
    return json.loads(answer)


def chart(rows):
    rows = sorted(rows, key=lambda row: row["ops"])
    seconds = [round(row["seconds"], 1) for row in rows]
    return "\n".join([
        "```mermaid", "xychart-beta", '    title "CPU seconds by ops"',
        "    x-axis [" + ", ".join(f'"{row["ops"]:,}"' for row in rows) + "]",
        f'    y-axis "seconds" 0 --> {max(seconds) * 1.1:.0f}',
        "    line " + json.dumps(seconds),
        "    line " + json.dumps([round(row["greedy"], 1) for row in rows]),
        "```"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--build", default="build/release", metavar="FOLDER")
    parser.add_argument("--chart", action="store_true", help="time over ops: chosen, and greedy")
    options = parser.parse_args()
    program = os.path.join(options.build, "bin", "tilewright")
    rows = []
    print("| file | ops | kernels | greedy | chosen | memory | us |\n|---|--:|--:|--:|--:|--:|--:|")
    for path in options.files:
        greedy, row = run(program, path, "--greedy"), run(program, path)
        row["greedy"] = greedy["seconds"]
        rows.append(row)
        print(f"| {os.path.basename(path).split('.')[0]} | {row['ops']:,} | {row['kernels']:,} | "
              f"{greedy['seconds']:.1f} s | {row['seconds']:.1f} s | {row['mb']:.0f} MB | {row['us']:,.0f} |")
    if options.chart:
        print("\n" + chart(rows))


main()
