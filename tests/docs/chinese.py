#!/usr/bin/env python3
"""Each page of docs/zh/ says the same as the English page of its name: chinese.py ROOT [--update]

Compares the fenced blocks, one by one, so that the walk of the English page tests both; the texts in
backquotes outside of them (options, variables, messages), as a set; and the number of table rows and
of headings. --update replaces blocks that differ by the English page's, if both have equally many.
"""

import os
import re
import sys

BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def spans(text):
    return set(re.findall(r"`([^`\n]+)`", BLOCK.sub("", text)))


def count(pattern, text):
    return len(re.findall(pattern, BLOCK.sub("", text), re.M))


def differences(english, chinese):
    pairs = list(zip(BLOCK.findall(english), BLOCK.findall(chinese)))
    for number, (block, translated) in enumerate(pairs, 1):
        if block != translated:
            yield f"block {number} differs from\n{block}"
    numbers = [{"blocks": len(BLOCK.findall(text)), "table rows": count(r"^\|", text),
                "headings": count(r"^#+ ", text)} for text in (english, chinese)]
    for what, number in numbers[0].items():
        if numbers[1][what] != number:
            yield f"{numbers[1][what]} {what}, and the English page has {number}"
    for span in sorted(spans(english) - spans(chinese)):
        yield f"lacks `{span}`"
    for span in sorted(spans(chinese) - spans(english)):
        yield f"has `{span}`, which the English page has not"


def updated(english, chinese):
    blocks = BLOCK.findall(english)
    if len(blocks) != len(BLOCK.findall(chinese)):
        return chinese
    rest = iter(blocks)
    return BLOCK.sub(lambda found: next(rest), chinese)


def main():
    root = os.path.join(os.path.abspath(sys.argv[1]), "docs")
    found = []
    names = sorted(name for name in os.listdir(os.path.join(root, "zh")) if name.endswith(".md"))
    for name in names:
        path = os.path.join(root, "zh", name)
        english, chinese = read(os.path.join(root, name)), read(path)
        if sys.argv[2:] == ["--update"]:
            chinese = updated(english, chinese)
            with open(path, "w", encoding="utf-8") as file:
                file.write(chinese)
        found += [f"docs/zh/{name}: {line}" for line in differences(english, chinese)]
    sys.exit("\n".join(found) or (0 if names else "docs/zh: no pages"))


main()
