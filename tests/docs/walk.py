#!/usr/bin/env python3
"""Runs the commands of a Markdown page as a reader would: walk.py PAGE FOLDER [SECTION...]

Each fenced block `sh` of the sections (all: none is named) runs by bash in FOLDER, one after the
other, each in a shell of its own, with the environment of the caller. A block `text` behind it is
what it has to print: each line of it in this order, with other lines between, `...` for anything.
Other blocks (`bash`, no language) do not run.
A block that fails, prints something else or takes more than BLOCK_SECONDS ends the walk with 1.

Of migrations, `sh before` and `sh after` run each, the `text` behind them is for both, and both have
to print the same lines on stdout.
"""

import os
import re
import signal
import subprocess
import sys
import time

BLOCK_SECONDS = 300


class Block:
    def __init__(self, line, script, before):
        self.line = line
        self.script = script
        self.before = before  # the block whose place this one takes, or None
        self.pair = before is not None
        self.expected = []
        self.printed = ""  # stdout


def blocks_of(page, sections):
    """The blocks in the order of the page, each with the lines that it has to print."""
    blocks, pending = [], []
    wanted, fence, body, start = not sections, None, [], 0
    for number, line in enumerate(open(page, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if fence is None:
            if line.startswith("## "):
                wanted, pending = not sections or line[3:] in sections, []
                if wanted and sections:
                    sections = [name for name in sections if name != line[3:]] or [""]
            elif line.startswith("```"):
                fence, body, start = line[3:].strip(), [], number
        elif line == "```":
            if wanted and fence in ("sh", "sh before", "sh after"):
                before = pending[-1] if fence == "sh after" else None
                blocks.append(Block(start, "\n".join(body), before))
                pending = [before, blocks[-1]] if before else [blocks[-1]]
                if before:
                    before.pair = True
            elif wanted and fence == "text":
                for block in pending:
                    block.expected = body
                pending = []
            fence = None
        else:
            body.append(line)
    missing = [name for name in sections if name]
    return blocks, missing


def pattern_of(line):
    return re.compile(".*".join(re.escape(part.strip()) for part in line.split("...")))


def first_missing(expected, printed):
    rest = iter(printed)
    for line in expected:
        if line.strip() in ("", "..."):
            continue
        if not any(pattern_of(line).search(candidate) for candidate in rest):
            return line
    return None


def run(block, folder):
    """What it printed, and why that is wrong; None when it is right."""
    shell = subprocess.Popen(
        ["bash", "-e", "-c", block.script],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if block.pair else subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        block.printed, errors = shell.communicate(timeout=BLOCK_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGKILL)
        return shell.communicate()[0], f"did not end within {BLOCK_SECONDS} s"
    everything = block.printed + (errors or "")
    if shell.returncode != 0:
        return everything, f"exit code {shell.returncode}"
    line = first_missing(block.expected, block.printed.splitlines())
    if line is not None:
        return everything, f"did not print, where it should: {line}"
    if block.before and set(block.printed.splitlines()) != set(block.before.printed.splitlines()):
        return everything, f"does not print what the block before it does:\n{block.before.printed}"
    return everything, None


def main():
    page, folder, sections = sys.argv[1], sys.argv[2], sys.argv[3:]
    blocks, missing = blocks_of(page, sections)
    if missing or not blocks:
        sys.exit(f"{page}: no commands, or no section {missing}")
    for block in blocks:
        place = f"{os.path.basename(page)}:{block.line}"
        start = time.monotonic()
        printed, wrong = run(block, folder)
        if wrong is not None:
            sys.exit(f"{place}: {wrong}\n--- the commands\n{block.script}\n--- printed\n{printed}")
        print(f"{place}: ok, {time.monotonic() - start:.1f} s", flush=True)


main()
