#!/usr/bin/env python3
"""Each link of the project's Markdown leads to a file that is there, and to a heading of it, and each
file or folder that docs/ names as code is there; README.zh.md has README.md's commands: links.py ROOT"""

import os
import re
import sys


def prose(path):
    """Without fenced blocks."""
    return re.sub(r"^```.*?^```$", "", open(path, encoding="utf-8").read(), flags=re.M | re.S)


def anchors(path):
    """Of the headings, as code hosts make them."""
    names = re.findall(r"^#+ +(.*)$", prose(path), re.M)
    return {re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in names}


def broken(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(file) or (anchor and anchor not in anchors(file)):
            yield f"{page}: {target} leads nowhere"


def missing(page, root):
    """Paths of the tree; NAME stands for the reader's own."""
    trees = "base|envgen|lifecycle|init|hooks|images|docs|tests|\\.ci"
    for path in re.findall(rf"`((?:{trees})/[^`\s*]*)`", prose(page)):
        if not re.search(r"[A-Z]{4}|<", path) and not os.path.exists(os.path.join(root, path)):
            yield f"{page}: {path} is not there"


def untranslated(root):
    """Commands of README.md that README.zh.md does not have."""
    both = [os.path.join(root, name) for name in ("README.md", "README.zh.md")]
    commands, translated = (
        re.findall(r"^```sh$.*?^```$", open(path, encoding="utf-8").read(), flags=re.M | re.S) for path in both)
    for block in commands:
        if block not in translated:
            yield f"{both[1]}: these commands of README.md are not there:\n{block}"


def main():
    root = os.path.abspath(sys.argv[1])
    found = list(untranslated(root)) if os.path.exists(os.path.join(root, "README.zh.md")) else []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != "build" and not name.startswith(".")]
        pages = [name for name in files if name.endswith(".md")]
        found += [line for name in pages for line in broken(os.path.join(folder, name))]
        if os.path.relpath(folder, root).split(os.sep)[0] == "docs":
            found += [line for name in pages for line in missing(os.path.join(folder, name), root)]
    sys.exit("\n".join(found) or 0)


main()
