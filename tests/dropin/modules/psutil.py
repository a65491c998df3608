"""The part of psutil that tini's test programs use, from /proc: fresh machines have no psutil."""

import os


class NoSuchProcess(Exception):
    pass


_FORK_NO_EXEC = 0x40  # PF_FORKNOEXEC


def _stat(pid):
    """(name, parent, flags of the kernel)"""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
            text = file.read()
    except OSError as error:
        raise NoSuchProcess(pid) from error
    name, _, rest = text.partition('(')[2].rpartition(')')
    words = rest.split()
    return name, int(words[1]), int(words[6])


class Process:
    def __init__(self, pid):
        self.pid = pid
        _stat(pid)

    def name(self):
        return _stat(self.pid)[0]

    def parent(self):
        return Process(_stat(self.pid)[1])

    def children(self, recursive=False):
        """Those that run their own program: before, a child still ignores signals as its parent does."""
        below = {}
        for process in process_iter():
            try:
                _, parent, flags = _stat(process.pid)
                if not flags & _FORK_NO_EXEC:
                    below.setdefault(parent, []).append(process)
            except NoSuchProcess:
                pass
        found = list(below.get(self.pid, []))
        if recursive:
            for process in found:
                found.extend(below.get(process.pid, []))
        return found


def process_iter():
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                yield Process(int(name))
            except NoSuchProcess:
                pass
