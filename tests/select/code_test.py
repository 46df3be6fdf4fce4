"""The C++ header and the Python module of `tilewright select` answer as its JSON does, at every size.

Usage: code_test.py PROGRAM COMPILER
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = {"m=1..40": range(1, 41), "m=8..76:4": range(8, 77, 4)}
PRINTER = """#include "tiles.h"
#include <cstdio>
using tiles::softmax2d::select;
static_assert(select({last})->from <= {last} && select({past}) == nullptr);
int main() {{
  for (std::int64_t size = {first}; size <= {past}; ++size)
    if (const auto *plan = select(size))
      std::printf("%lld {names} %s\\n", static_cast<long long>(size), {values}, plan->instruction);
}}
"""


def check(program, compiler, over, sizes):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        said = subprocess.run(
            [program, "select", "softmax2d", "n=512", "dtype=bf16", "--over", over, "--json",
             "--loss", "0", "--header", folder / "tiles.h", "--python", folder / "tiles.py"],
            stdout=subprocess.PIPE, check=True)
        table = json.loads(said.stdout)
        expected = {size: (each["plan"]["values"], each["plan"]["instruction"])
                    for each in table["ranges"] for size in range(each["from"], each["to"] + 1, table["step"])}
        assert set(expected) == set(sizes), expected.keys()
        assert len(table["ranges"]) > 1, "one range tests no search"

        spec = importlib.util.spec_from_file_location("tiles", folder / "tiles.py")
        tiles = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(tiles)
        names = sorted(table["ranges"][0]["plan"]["values"])
        lines = []
        for size in range(sizes[0] - 1, sizes[-1] + 2):
            plan = tiles.select(size)
            if size not in expected:
                assert plan is None, (size, plan)
                continue
            values, instruction = expected[size]
            assert plan == {**values, "instruction": instruction}, (size, plan, expected[size])
            lines.append(" ".join([str(size), *(str(values[each]) for each in names), instruction]))

        (folder / "main.cpp").write_text(PRINTER.format(
            first=sizes[0] - 1, last=sizes[-1], past=sizes[-1] + 1, names=" ".join(["%lld"] * len(names)),
            values=", ".join(f"static_cast<long long>(plan->{each})" for each in names)))
        subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", folder / "main.cpp",
                        "-o", folder / "main"], check=True)
        printed = subprocess.run([folder / "main"], stdout=subprocess.PIPE, text=True, check=True).stdout
        assert printed.splitlines() == lines, (printed, lines)


if __name__ == "__main__":
    for each_over, each_sizes in SIZES.items():
        check(*sys.argv[1:], each_over, each_sizes)
