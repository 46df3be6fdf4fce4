"""``python -m tilewright`` and the ``tilewright`` of a wheel: the program that came with it."""

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).parent / "bin" / "tilewright"
    if not program.exists():
        sys.exit("error: this package came without the program; build it, or install the wheel")
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
