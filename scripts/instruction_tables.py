#!/usr/bin/env python3
"""Asks ptxas which instructions each target takes, and says where datasets/instructions differs.

Usage: scripts/instruction_tables.py [--ptxas PATH] [--jobs N] [--group NAME] [--targets sm_90a,…] [--write]
       [--same-release]
Every row of the tables has its PTX; one file with that instruction alone is assembled for each target.
With --write the answers are put into the tables: those of a new row, of a new column (--targets), or of
a newer toolkit. Exit code 1: they differ; 77 with --same-release: there is no ptxas of the release that the
tables are of. No GPU is needed; all of it takes about ten minutes."""

import argparse
import csv
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "datasets" / "instructions"
PTX_VERSION = "9.0"
RELEASE = "release 13.0"
SKIPPED = 77
# Enough registers of each kind for what the rows name.
KERNEL = """.version {version}
.target {target}
.address_size 64
.shared .align 1024 .b8 sm[4096];
.visible .entry k(.param .u64 p) {{
  .reg .pred %p<4>;
  .reg .b16 %h<64>;
  .reg .b32 %r<300>;
  .reg .f32 %f<300>;
  .reg .f64 %fd<32>;
  .reg .b64 %rd<64>;
  {body}
  ret;
}}
"""


def spelled_out(ptx):
    """{%f0..3} is {%f0, %f1, %f2, %f3}."""

    def listed(match):
        kind, first, last = match.group(1), int(match.group(2)), int(match.group(3))
        return ", ".join(f"{kind}{i}" for i in range(first, last + 1))

    return re.sub(r"(%[a-z]+)(\d+)\.\.(\d+)", listed, ptx)


def first_complaint(output):
    for word in ("error", "fatal"):
        for line in output.splitlines():
            if re.search(rf"{word}\s*:", line):
                text = re.sub(rf"^.*?{word}\s*:\s*", "", line)
                text = re.sub(r"file \S+, line \d+", "", text)
                return text.strip().replace("'", "").replace("\u2018", "")[:140]
    return output.strip()[:140]


def complaint_of(ptxas, ptx, target, folder, number):
    """Empty where the target takes it."""
    path = folder / f"{number}_{target}.ptx"
    path.write_text(KERNEL.format(version=PTX_VERSION, target=target, body=spelled_out(ptx)))
    asked = [ptxas, f"-arch={target}", str(path), "-o", "/dev/null"]
    answer = subprocess.run(asked, capture_output=True, text=True, timeout=120)
    path.unlink()
    return "" if answer.returncode == 0 else first_complaint(answer.stderr + answer.stdout) or "refused"


def what_says_most(complaints):
    """One about the shape or the types if there is one, and what the target would have to be."""
    said = list(dict.fromkeys(each for each in complaints if each))

    def is_about_target(text):
        return ("target" in text and "not supported" in text) or "requires .target" in text

    chosen = [each for each in said if not is_about_target(each)][:1]
    chosen += [each for each in said if "requires .target" in each][:1]
    return " | ".join(chosen or said[-1:])


def why_skipped(ptxas):
    """Empty where this is the assembler that the tables are of."""
    try:
        said = subprocess.run([ptxas, "--version"], capture_output=True, text=True, timeout=60).stdout
    except OSError as error:
        return f"there is no {ptxas}: {error.strerror}"
    return "" if RELEASE in said else f"{ptxas} is not of {RELEASE}, which the tables are of"


class Table:
    def __init__(self, path, more_targets):
        self.path = path
        with open(path, newline="") as file:
            self.rows = list(csv.DictReader(file))
        columns = list(self.rows[0])
        first = columns.index("ptx") + 1
        known = columns[first:-1]
        self.targets = known + [each for each in more_targets if each not in known]
        self.columns = columns[:first] + self.targets + columns[-1:]

    def write(self):
        with open(self.path, "w", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--group", help="only rows of this group")
    parser.add_argument("--targets", default="", help="only these targets; new ones become columns")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--same-release", action="store_true", help="only by the release of the tables")
    options = parser.parse_args()
    if options.same_release and (reason := why_skipped(options.ptxas)):
        print(f"skipped: {reason}")
        return SKIPPED
    wanted = [each for each in options.targets.split(",") if each]

    asked = differing = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(folder)
        for path in sorted(FOLDER.glob("*.csv")):
            table = Table(path, wanted)
            rows = [row for row in table.rows if options.group in (None, row["group"])]
            targets = [each for each in table.targets if not wanted or each in wanted]

            def ask(numbered):
                number, row = numbered
                return [complaint_of(options.ptxas, row["ptx"], each, folder, number) for each in targets]

            for row, complaints in zip(rows, pool.map(ask, enumerate(rows))):
                for target, complaint in zip(targets, complaints):
                    answer = "no" if complaint else "yes"
                    asked += 1
                    if row.get(target) and row[target] != answer:
                        differing += 1
                        print(f"{path.name}: {row['instruction']} on {target}: the table has {row[target]}, "
                              f"ptxas says {answer}{': ' if complaint else ''}{complaint}")
                    row[target] = answer
                if targets == table.targets:
                    row["refusal"] = what_says_most(complaints)
            if options.write:
                table.write()
    print(f"{asked} answers, {differing} differ from the tables")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
