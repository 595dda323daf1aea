"""python -m hermetic, and the command `hermetic` of the wheel: the program, and `selftest` of the package."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import List, Optional

HERE = pathlib.Path(__file__).resolve().parent


def program() -> Optional[str]:
    """HERMETIC_PROGRAM if it is set; else that of the wheel. Never one by name: it could be this very command."""
    chosen = os.environ.get("HERMETIC_PROGRAM")
    if chosen:
        return chosen
    carried = HERE / "bin" / "hermetic"
    return str(carried) if carried.exists() else None


def main(words: Optional[List[str]] = None) -> int:
    words = sys.argv[1:] if words is None else words
    if words[:1] == ["selftest"]:
        from ._selftest import selftest
        return selftest(words[1:])
    path = program()
    if path is None:
        print("hermetic: this package was installed without the program\n"
              "  hint: install the wheel, or set HERMETIC_PROGRAM to its path", file=sys.stderr)
        return 125
    try:
        os.execv(path, ["hermetic", *words])
    except OSError as error:
        print(f"hermetic: cannot start '{path}': {error.strerror}", file=sys.stderr)
    return 125


if __name__ == "__main__":
    sys.exit(main())
