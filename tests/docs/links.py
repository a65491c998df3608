#!/usr/bin/env python3
"""Checks the project's Markdown below ROOT: links.py ROOT

- Each link leads to an existing file, and to a heading of it.
- Each file or folder that docs/ names as code exists.
- README.zh.md has the commands of README.md and their output, in the same order.

A tree without pages, links or commands is an error: a check that finds nothing to check has failed.
"""

import os
import re
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def prose(path):
    """Returns the page without fenced blocks."""
    return re.sub(r"^```.*?^```$", "", read(path), flags=re.M | re.S)


def anchors(path):
    """Returns the anchors of the headings, as code hosts make them: a second equal heading gets -1."""
    found = set()
    for name in re.findall(r"^#+ +(.*)$", prose(path), re.M):
        anchor = re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")
        number = 0
        while (f"{anchor}-{number}" if number else anchor) in found:
            number += 1
        found.add(f"{anchor}-{number}" if number else anchor)
    return found


def links(page):
    """Returns the targets within the tree."""
    targets = re.findall(r"\]\(\s*<?([^)\s>]+)", prose(page)) + re.findall(r"^\[[^]\n]+\]:\s+(\S+)", prose(page), re.M)
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def broken(page):
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(file) or (anchor and anchor not in (anchors(file) if os.path.isfile(file) else ())):
            yield f"{page}: {target} leads nowhere"


def named(page):
    """Returns the paths of the tree that the page names; NAME stands for the reader's own."""
    trees = "base|envgen|lifecycle|init|hooks|images|docs|tests|\\.ci"
    paths = re.findall(rf"`((?:{trees})/[^`\s*]*)`", prose(page))
    return [path for path in paths if not re.search(r"[A-Z]{4}|<", path)]


def missing(page, root):
    for path in named(page):
        if not os.path.exists(os.path.join(root, path)):
            yield f"{page}: {path} does not exist"


def untranslated(folder):
    """Yields the commands of README.md, and their output, that README.zh.md lacks or has elsewhere."""
    blocks, translated = (re.findall(r"^```(?:sh|text)$.*?^```$", read(os.path.join(folder, name)), flags=re.M | re.S)
                          for name in ("README.md", "README.zh.md"))
    if not any(block.startswith("```sh\n") for block in blocks):
        yield f"{folder}/README.md: no commands"
    rest = iter(translated)
    for block in blocks:
        if block not in rest:  # reads `rest` up to the block
            yield f"{folder}/README.zh.md: lacks this block of README.md, or has it in another place:\n{block}"
            return


def main():
    root = os.path.abspath(sys.argv[1])
    found, checked, translations = [], 0, 0
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != "build" and not name.startswith(".")]
        pages = [os.path.join(folder, name) for name in files if name.endswith(".md")]
        for page in pages:
            checked += len(links(page))
            found += broken(page)
            if os.path.relpath(folder, root).split(os.sep)[0] == "docs":
                found += missing(page, root)
        if "README.zh.md" in files:
            translations += 1
            found += untranslated(folder)
    if not checked:
        found.append(f"{root}: no page with a link")
    if not translations:
        found.append(f"{root}: no README.zh.md")
    sys.exit("\n".join(found) or 0)


main()
