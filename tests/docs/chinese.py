#!/usr/bin/env python3
"""Each page of docs/zh/ says the same as the English page of its name: chinese.py ROOT [--update]

Compares the fenced blocks, one by one, so that the walk of the English page tests both. Then it
compares the sections one by one: the level of the heading, the texts in backquotes (options,
variables, messages), numbers from 10, the pages that links lead to, and for each table row the
number of cells and the texts in backquotes. --update replaces blocks that differ by the English
page's, if both pages have equally many.
"""

import os
import re
import sys

BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def sections(text):
    """Returns the text in front of the first heading, then each heading with what follows, without blocks."""
    return re.split(r"^(?=#+ )", BLOCK.sub("", text), flags=re.M)


def level(section):
    return len(re.match("#*", section).group())


def spans(text):
    return set(re.findall(r"`([^`\n]+)`", text))


def numbers(section):
    """Returns the numbers outside of backquotes and link targets; Chinese writes those below 10 in words at times."""
    prose = re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", section)
    return {number for number in re.findall(r"\d+(?:[.,]\d+)*", prose) if len(number) > 1}


def linked(section, folder):
    """Returns the files that the section links to, a page of docs/zh/ by its English name."""
    files = set()
    for target in re.findall(r"\]\(([^)\s]+)\)", section):
        path = target.partition("#")[0]
        if path and "://" not in path:
            files.add(re.sub(r"^docs/zh/", "docs/", os.path.normpath(os.path.join(folder, path))))
    return files


def rows(section):
    return [line for line in section.split("\n") if line.startswith("|")]


def cells(row):
    return len(re.findall(r"(?<!\\)\|", row))


def set_differences(what, english, chinese):
    for item in sorted(english - chinese):
        yield f"lacks {what} {item}"
    for item in sorted(chinese - english):
        yield f"has {what} {item}, which the English page has not"


def block_differences(english, chinese):
    if len(english) != len(chinese):
        yield f"{len(chinese)} blocks, and the English page has {len(english)}"
    for number, (block, translated) in enumerate(zip(english, chinese), 1):
        if block != translated:
            yield f"block {number} differs from\n{block}"


def section_differences(english, chinese):
    if level(english) != level(chinese):
        yield f"a heading of level {level(chinese)}, and the English page has {level(english)}"
    yield from set_differences("the text", spans(english), spans(chinese))
    yield from set_differences("the number", numbers(english), numbers(chinese))
    yield from set_differences("a link to", linked(english, "docs"), linked(chinese, "docs/zh"))
    if len(rows(english)) != len(rows(chinese)):
        yield f"{len(rows(chinese))} table rows, and the English page has {len(rows(english))}"
        return
    for row, translated in zip(rows(english), rows(chinese)):
        if cells(row) != cells(translated) or spans(row) != spans(translated):
            yield f"the row\n{translated}\ndiffers from\n{row}"


def differences(name, english, chinese):
    yield from block_differences(BLOCK.findall(english), BLOCK.findall(chinese))
    parts = sections(english), sections(chinese)
    if len(parts[0]) != len(parts[1]):
        yield f"{len(parts[1])} sections, and the English page has {len(parts[0])}"
        return
    for number, (section, translated) in enumerate(zip(*parts)):
        if number == 1:
            if f"\n[English](../{name})\n" not in translated:
                yield "no link to the English page below the title"
            translated = translated.replace(f"](../{name})", "]", 1)
        heading = translated.partition("\n")[0]
        for line in section_differences(section, translated):
            yield f"{heading}: {line}"


def updated(english, chinese):
    blocks = BLOCK.findall(english)
    if len(blocks) != len(BLOCK.findall(chinese)):
        return chinese
    rest = iter(blocks)
    return BLOCK.sub(lambda found: next(rest), chinese)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--update"]):
        sys.exit("usage: chinese.py ROOT [--update]")
    root = os.path.join(os.path.abspath(sys.argv[1]), "docs")
    found = []
    names = sorted(name for name in os.listdir(os.path.join(root, "zh")) if name.endswith(".md"))
    for name in names:
        path = os.path.join(root, "zh", name)
        english, chinese = read(os.path.join(root, name)), read(path)
        if sys.argv[2:]:
            chinese = updated(english, chinese)
            with open(path, "w", encoding="utf-8") as file:
                file.write(chinese)
        found += [f"docs/zh/{name}: {line}" for line in differences(name, english, chinese)]
    sys.exit("\n".join(found) or (0 if names else "docs/zh: no pages"))


main()
