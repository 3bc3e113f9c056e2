"""Writes each fenced code block of the given Markdown files into a file of its own, and prints one line per block.

usage: blocks.py FOLDER FILE.md...        prints: LANGUAGE PATH SOURCE:LINE
"""

import pathlib
import sys
import textwrap

SUFFIXES = {"sh": "sh", "python": "py", "js": "mjs", "php": "php", "cpp": "cpp", "c": "c", "rust": "rs", "sql": "sql"}


def blocks(path):
    """Yields (line number, language, text) of each block; a block that is never closed is an error."""
    start, language, lines = 0, "", []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if start == 0 and line.startswith("```"):
            start, language, lines = number, line[3:].strip(), []
        elif start and line.rstrip() == "```":
            yield start, language, "\n".join(lines) + "\n"
            start = 0
        elif start:
            lines.append(line)
    if start:
        raise SystemExit(f"{path}:{start}: a code block that does not end")


def whole(language, text):
    """A Rust block without main is the body of one; everything else stands as it is."""
    if language != "rust" or "fn main(" in text:
        return text
    uses = [line for line in text.splitlines() if line.startswith("use ")]
    body = textwrap.indent("\n".join(line for line in text.splitlines() if not line.startswith("use ")), "    ")
    return "\n".join(uses) + "\n\nfn main() -> Result<(), fencehold::Error> {\n" + body + "\n    Ok(())\n}\n"


def main(folder, *paths):
    for name in paths:
        path = pathlib.Path(name)
        for line, language, text in blocks(path):
            out = pathlib.Path(folder) / f"{path.stem.lower()}_{line}.{SUFFIXES.get(language, 'txt')}"
            out.write_text(whole(language, text), encoding="utf-8")
            print(language or "none", out, f"{name}:{line}")


main(*sys.argv[1:])
