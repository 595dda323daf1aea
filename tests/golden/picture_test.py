#!/usr/bin/env python3
"""The picture in README.md shows what the program prints.

Runs the commands of the picture with the program under test, draws what they print as an SVG, and compares that with
docs/pictures/terminal.svg. UPDATE_GOLDEN=1 writes the file instead. The commands run in a mount namespace of their own, in
/home/ada/hello, so that the picture does not depend on where the clone is.
"""

import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from xml.sax.saxutils import escape

SOURCE = pathlib.Path(os.environ["HERMETIC_SOURCE_DIR"])
PROGRAM = os.environ["HERMETIC_PROGRAM"]
PICTURE = SOURCE / "docs/pictures/terminal.svg"
HOME = "/home/ada/hello"

# What is typed, what is run (the same with colours), and which lines of the output are shown.
SCENES = [
    (
        "hermetic plan hello",
        ["plan", "--color", "always", "hello"],
        lambda lines: ["⋮", *lines[place_of(lines, "files") : place_of(lines, "environment") - 1], "⋮", lines[-1]],
    ),
    (
        "hermetic run -- bash -c 'echo hello > /dev/tcp/127.0.0.1/80'",
        ["run", "--", "bash", "-c", "echo hello > /dev/tcp/127.0.0.1/80"],
        lambda lines: lines,
    ),
]

ESCAPE = re.compile("\x1b\\[([0-9;]*)m")
COLORS = {"1": "#e6edf3", "2": "#8b949e", "31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "36": "#76e3ea"}
WIDTH, LINE, CHARACTER, MARGIN, TOP = 100, 19, 8.43, 18, 48


def plain(line: str) -> str:
    return ESCAPE.sub("", line)


def place_of(lines: list[str], heading: str) -> int:
    return [plain(line) for line in lines].index(heading)


def printed_by(arguments: list[str], program: str) -> list[str]:
    """Lines of standard output and error of the program, run in HOME."""
    script = f'set -e; mount -t tmpfs none /home; mkdir -p {HOME}; cp -r "$0"/. {HOME}; cd {HOME}; exec "$@"'
    namespaces = ["--mount"] if os.geteuid() == 0 else ["--mount", "--map-root-user"]
    environment = {"PATH": os.environ["PATH"], "HOME": "/home/ada", "TERM": "xterm"}
    with tempfile.TemporaryDirectory() as empty:  # an example that was never built
        shutil.copytree(SOURCE / "examples/hello", f"{empty}/hello", ignore=shutil.ignore_patterns("out"))
        done = subprocess.run(
            ["unshare", *namespaces, "sh", "-c", script, f"{empty}/hello", program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            env=environment,
            check=False,
        )
    return done.stdout.rstrip("\n").split("\n")


def spans(line: str) -> str:
    """The line as SVG text, with the colours of its escape sequences."""
    result, color, at = [], "", 0
    for match in [*ESCAPE.finditer(line), None]:
        # Readers of SVG disagree on how to keep spaces; all of them keep this one.
        text = escape(line[at : match.start() if match else len(line)]).replace(" ", "\u00a0")
        if text:
            result.append(f'<tspan fill="{color}">{text}</tspan>' if color else text)
        if match:
            at = match.end()
            color = next((COLORS[code] for code in match[1].split(";") if code in COLORS), "")
    return "".join(result)


def wrapped(line: str) -> list[str]:
    """Lines of the width of the terminal. Only lines without colours are that long."""
    if len(plain(line)) <= WIDTH:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(line.strip(), WIDTH, initial_indent=indent, subsequent_indent=indent)


def drawn(lines: list[str]) -> str:
    height = TOP + LINE * len(lines) + MARGIN
    width = round(WIDTH * CHARACTER + 2 * MARGIN)
    text = "\n".join(
        f'<text x="{MARGIN}" y="{TOP + LINE * (number + 1) - 5}">{spans(line)}</text>'
        for number, line in enumerate(lines)
        if line
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">
<title>A terminal: hermetic plans and runs a command</title>
<rect width="{width}" height="{height}" rx="10" fill="#0d1117"/>
<g fill="#30363d"><circle cx="24" cy="22" r="6"/><circle cx="44" cy="22" r="6"/><circle cx="64" cy="22" r="6"/></g>
<g fill="#c9d1d9" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">
{text}
</g>
</svg>
"""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        # Short, and not below what is mounted over: the name of the program stands in no picture.
        program = f"{folder}/hermetic"
        shutil.copy(PROGRAM, program)
        lines: list[str] = []
        for typed, arguments, chosen in SCENES:
            output = printed_by(arguments, program)
            try:
                shown = chosen(output)
            except ValueError:
                print("\n".join(output), file=sys.stderr)
                return 1
            lines += [f"\x1b[32m$\x1b[0m \x1b[1m{typed}\x1b[0m"]
            lines += [part for line in shown for part in wrapped(line)]
            lines += [""]
        picture = drawn(lines[:-1])
    if os.environ.get("UPDATE_GOLDEN") == "1":
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(picture)
        return 0
    old = PICTURE.read_text() if PICTURE.exists() else ""
    sys.stderr.writelines(difflib.unified_diff(old.splitlines(True), picture.splitlines(True), str(PICTURE), "as printed now"))
    return 0 if old == picture else 1


if __name__ == "__main__":
    sys.exit(main())
