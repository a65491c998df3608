"""Containers as the nodes of one job, for scripts that measure what a fault on one does on the others.

The engine is DOCKER_HOST's; faults come from this machine, as root, so that their instant is known.
Node N has a control directory at /ctl, its termination log, and the name node-N on a network of the
job's own. Times are seconds of this machine's wall clock, which containers share.
"""

import calendar
import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

DEADLINE = 180

# Sits as a rank in a dead communicator does, for SIT seconds, unless it is told how to end.
STUB = r"""
exec 3<>/ctl/rank-$RANK
echo "$(date +%s.%N) $RANK" >>/ctl/up
read -r -t "${SIT:-3600}" line <&3 || exit 1
eval "$line"
"""


def docker(*argv, check=True):
    done = subprocess.run(["docker", *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if check and done.returncode != 0:
        sys.exit(f"docker {' '.join(argv)}: {done.stdout}")
    return done.stdout


# What Debian's PyTorch 1.13 needs below Python 3.11: see cluster.cc.
OF_1_13 = "PET_REDIRECTS=1 PET_TEE=1"


def import_image(tar, name, variables=OF_1_13):
    docker("import", "--change", f"ENV PYTHONUNBUFFERED=1 {variables}", tar, name)
    return name


class Node:
    """One container."""

    def __init__(self, name):
        self.name = name
        self.pid = int(docker("inspect", "--format", "{{.State.Pid}}", name))
        self.pidfd = -1
        if self.pid > 0:
            with contextlib.suppress(ProcessLookupError):  # it has ended by now
                self.pidfd = os.pidfd_open(self.pid)

    def kill(self, number=signal.SIGKILL):
        os.kill(self.pid, number)

    def code(self):
        return int(docker("wait", self.name))

    def ended(self):
        """When its PID 1 is gone; to be called before or soon after."""
        if self.pidfd >= 0:
            waits = select.poll()
            waits.register(self.pidfd, select.POLLIN)
            if not waits.poll(DEADLINE * 1000):
                sys.exit(f"{self.name} did not end:\n{self.logs()}")
        return time.time()

    def logs(self):
        return docker("logs", self.name)

    def processes(self):
        """Of its tree: pid and environment, of those whose environment can be read."""
        todo = [self.pid]
        while todo:
            pid = todo.pop()
            try:
                with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                    todo += [int(child) for child in file.read().split()]
                with open(f"/proc/{pid}/environ", "rb") as file:
                    yield pid, file.read().split(b"\0")
            except OSError:
                pass

    def close(self):
        if self.pidfd >= 0:
            os.close(self.pidfd)
        docker("rm", "--force", self.name, check=False)


class Job:
    """`argv(index)` is what node `index` runs. All else that a node gets is the same for all."""

    def __init__(self, image, binary, count, argv, ranks=2, flags=()):
        self.image, self.binary, self.count, self.argv, self.ranks = image, binary, count, argv, ranks
        self.flags = list(flags)
        self.folder = tempfile.TemporaryDirectory(prefix="trainit-link.")
        self.name = os.path.basename(self.folder.name)
        self.nodes = {}
        for rank in range(count * ranks):
            os.mkfifo(self.path(f"rank-{rank}"))
        docker("network", "create", "--internal", self.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes.values():
            node.close()
        docker("network", "rm", self.name, check=False)
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def start(self, *indices):
        started = []
        for index in indices or range(self.count):
            with open(self.path(f"term-{index}"), "w", encoding="ascii"):
                pass
            name = f"{self.name}-{index}-{time.monotonic_ns()}"
            hosts = ",".join(f"node-{i}" for i in range(self.count))
            argv = [
                "docker", "run", "--detach", "--network", self.name, "--name", name,
                "--hostname", f"node-{index}", "--network-alias", f"node-{index}",
                "-v", f"{self.binary}:/usr/local/bin/trainit:ro", "-v", f"{self.folder.name}:/ctl",
                "-v", f"{self.path(f'term-{index}')}:/dev/termination-log",
                "-e", f"VK_TASK_INDEX={index}", "-e", f"WORKER_HOST={hosts}",
                "-e", f"SLOTS={self.ranks}", *self.flags, self.image, *self.argv(index),
            ]  # fmt: skip
            started.append((index, name, subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)))
        for index, name, program in started:
            _, said = program.communicate()
            if program.returncode != 0:
                sys.exit(f"docker run: {said.decode()}")
            if index in self.nodes:
                self.nodes[index].close()
            self.nodes[index] = Node(name)

    def await_up(self, times=1):
        """When the last rank of all came up for the n-th time."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            ups = self.ups()
            if len(ups) == self.count * self.ranks and all(len(up) >= times for up in ups.values()):
                return max(up[times - 1] for up in ups.values())
            time.sleep(0.02)
        logs = "".join(node.logs() for node in self.nodes.values())
        sys.exit(f"not all ranks came up for the {times}. time: {ups}\n{logs}")

    def await_links(self):
        """A fault before a node has its link is one that the others cannot hear of."""
        for index in range(1, self.count):
            deadline = time.monotonic() + DEADLINE
            while "connected to node 0" not in self.nodes[index].logs():
                if time.monotonic() >= deadline:
                    sys.exit(f"node {index} has no link:\n{self.nodes[index].logs()}")
                time.sleep(0.05)

    def ups(self):
        """When each rank came up."""
        found = {}
        try:
            with open(self.path("up"), encoding="ascii") as file:
                for line in file:
                    at, rank = line.split()
                    found.setdefault(int(rank), []).append(float(at))
        except FileNotFoundError:
            pass
        return found

    def order(self, rank, line):
        """A line of shell for a stub; when it was given."""
        began = time.time()
        with open(self.path(f"rank-{rank}"), "w", encoding="ascii") as fifo:
            fifo.write(line + "\n")
        return began

    def kill_rank(self, index, local):
        """A rank of a node, by its place there; when it was killed."""
        wanted = f"LOCAL_RANK={local}".encode()
        pids = [pid for pid, env in self.nodes[index].processes() if wanted in env]
        began = time.time()
        os.kill(pids[0], signal.SIGKILL)
        return began

    def message(self, index):
        with open(self.path(f"term-{index}"), encoding="utf-8") as file:
            return file.readline().rstrip("\n")


def stamp(line):
    """The instant with which a line of trainit begins."""
    found = re.match(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d+)Z", line)
    whole = calendar.timegm(time.strptime(found[1], "%Y-%m-%dT%H:%M:%S"))
    return whole + int(found[2]) / 10 ** len(found[2])


def known_at(log):
    """When a node said which failure was the first; None: it did not."""
    for line in log.splitlines():
        if "first failure: " in line:
            return stamp(line)
    return None


def quantile(values, part):
    """The nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * part // 100) - 1)]
