#!/usr/bin/env python3
"""Explores models on devices in shards that Ray runs, and merges them.

The result is that of one `tilewright explore`, byte for byte. Ray (https://ray.io, `pip install ray`)
runs a shard on each free CPU of its cluster, or of this machine where there is none; a shard whose
worker dies, or which can't be run, is run again and goes on where it was.

    scripts/sweep_ray.py --shards 64 --out sweep -- models/*.hlo.txt --device h100,b200

Files have to be reachable by the same paths on all machines, and OUT has to be shared. Exit code: of
`tilewright merge`; 2 where a shard can't be done.
"""

import argparse
import ctypes
import os
import pathlib
import signal
import subprocess
import sys

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
import ray  # noqa: E402


def die_with_parent():
    """Else a shard that is run again finds its folder still written by the one before."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_shard(command, folder):
    """Runs one shard. Models that fail are part of its result; anything else is an error."""
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=die_with_parent)
    if done.returncode not in (0, 2, 70) or not (pathlib.Path(folder) / "shard.json").exists():
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, required=True, help="parts of the batch; several for each CPU even out")
    parser.add_argument("--out", required=True, help="folder: a folder for each shard, and `all` with the result")
    parser.add_argument("--cpus", type=int, help="without a cluster: CPUs of this machine to use (default: all)")
    parser.add_argument("--retries", type=int, default=5, help="of a shard (default: 5)")
    parser.add_argument("--tilewright", default="tilewright", help="the program (default: tilewright)")
    parser.add_argument("explore", nargs="+", metavar="ARGUMENT", help="models and options of tilewright explore")
    arguments = parser.parse_args()
    if not 1 <= arguments.shards <= 100000:
        parser.error("--shards is 1 to 100000")
    own = {"--out", "-o", "--shard", "--resume", "--json"}
    if taken := own.intersection(word.split("=")[0] for word in arguments.explore):
        parser.error(f"{', '.join(sorted(taken))} is set by this script")

    cluster = os.environ.get("RAY_ADDRESS")
    ray.init(address=cluster, num_cpus=None if cluster else arguments.cpus, include_dashboard=False,
             log_to_driver=False, logging_level="ERROR")
    out = pathlib.Path(arguments.out).resolve()
    folders = [str(out / f"shard-{i:05}") for i in range(1, arguments.shards + 1)]
    task = ray.remote(num_cpus=1, max_retries=arguments.retries, retry_exceptions=[RuntimeError])(run_shard)
    running = {}
    for i, folder in enumerate(folders, 1):
        command = [arguments.tilewright, "explore", *arguments.explore, "--quiet", "--resume",
                   "--out", folder, "--shard", f"{i}/{arguments.shards}"]
        running[task.remote(command, folder)] = i
    failed = 0
    while running:
        (done,), _ = ray.wait(list(running), num_returns=1)
        i = running.pop(done)
        try:
            sys.stderr.write(ray.get(done))
        except Exception as problem:  # the engine's, or the shard's last one
            failed += 1
            print(f"shard {i}/{arguments.shards} can't be done: {problem}", file=sys.stderr)
        if sys.stderr.isatty():
            print(f"\r{arguments.shards - len(running)}/{arguments.shards} shards", end="", file=sys.stderr)
    ray.shutdown()
    if failed:
        print(f"error: {failed} of {arguments.shards} shards are missing; the same command goes on", file=sys.stderr)
        return 2
    return subprocess.run([arguments.tilewright, "merge", *folders, "--out", str(out / "all")]).returncode


if __name__ == "__main__":
    sys.exit(main())
