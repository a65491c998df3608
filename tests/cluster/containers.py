"""Containers as the nodes of one job, for scripts that measure what a fault on one does on the others.

The engine is DOCKER_HOST's; faults come from this machine, as root, so that their instant is known.
Node N has a control directory at /ctl, its termination log, its run directory, and the name node-N on a
network of the job's own. Times are seconds of this machine's wall clock, which containers share.
"""

import calendar
import collections
import contextlib
import os
import re
import select
import signal
import subprocess
import tempfile
import time

DEADLINE = 600  # of a hang, not of a machine on which several jobs of containers start

# Sits as a rank in a dead communicator does, for SIT seconds, unless it is told how to end.
STUB = r"""
exec 3<>/ctl/rank-$RANK
echo "$(date +%s.%N) $RANK $WORLD_SIZE $BASHPID" >>/ctl/up
read -r -t "${SIT:-3600}" line <&3 || exit 1
eval "$line"
"""


class Failed(Exception):
    """A job did not do in DEADLINE what it should, or the engine refused something."""


def docker(*argv, check=True):
    done = subprocess.run(["docker", *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if check and done.returncode != 0:
        raise Failed(f"docker {' '.join(argv)}: {done.stdout}")
    return done.stdout


# What Debian's PyTorch 1.13 needs below Python 3.11: see cluster.cc.
OF_1_13 = "PET_REDIRECTS=1 PET_TEE=1"


def import_image(tar, name, variables=OF_1_13):
    docker("import", "--change", f"ENV PYTHONUNBUFFERED=1 {variables}", tar, name)
    return name


Up = collections.namedtuple("Up", "at world pid")


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
                raise Failed(f"{self.name} did not end:\n{self.logs()}")
        return time.time()

    def logs(self):
        return docker("logs", self.name)

    def process(self, inner):
        """The process of its tree that has this pid inside."""
        todo = [self.pid]
        while todo:
            pid = todo.pop()
            try:
                with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                    if int(re.search(r"^NSpid:.*\t(\d+)$", file.read(), re.MULTILINE)[1]) == inner:
                        return pid
                with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                    todo += [int(child) for child in file.read().split()]
            except OSError:
                pass
        raise Failed(f"{self.name} has no process {inner}")

    def close(self):
        if self.pidfd >= 0:
            os.close(self.pidfd)
        docker("rm", "--force", self.name, check=False)


class Job:
    """`argv(index)` is what node `index` runs, `node_flags(index)` what its `docker run` has besides
    `flags`, which are those of all."""

    def __init__(self, image, binary, count, argv, ranks=2, flags=(), node_flags=lambda _: []):
        self.image, self.binary, self.count, self.argv, self.ranks = image, binary, count, argv, ranks
        self.flags, self.node_flags = list(flags), node_flags
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
            os.makedirs(self.path(f"run-{index}"), mode=0o755, exist_ok=True)
            name = f"{self.name}-{index}-{time.monotonic_ns()}"
            hosts = ",".join(f"node-{i}" for i in range(self.count))
            argv = [
                "docker", "run", "--detach", "--network", self.name, "--name", name,
                "--hostname", f"node-{index}", "--network-alias", f"node-{index}",
                "-v", f"{self.binary}:/usr/local/bin/trainit:ro", "-v", f"{self.folder.name}:/ctl",
                "-v", f"{self.path(f'term-{index}')}:/dev/termination-log",
                "-v", f"{self.path(f'run-{index}')}:/run/trainit",
                "-e", f"VK_TASK_INDEX={index}", "-e", f"WORKER_HOST={hosts}",
                "-e", f"SLOTS={self.ranks}", *self.flags, *self.node_flags(index), self.image,
                *self.argv(index),
            ]  # fmt: skip
            program = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            started.append((index, name, program))
        for index, name, program in started:
            _, said = program.communicate()
            if program.returncode != 0:
                raise Failed(f"docker run: {said.decode()}")
            if index in self.nodes:
                self.nodes[index].close()
            self.nodes[index] = Node(name)

    def await_up(self, times=1):
        """When the last rank of all came up for the n-th time."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            ups = self.ups()
            if len(ups) == self.count * self.ranks and all(len(up) >= times for up in ups.values()):
                return max(up[times - 1].at for up in ups.values())
            time.sleep(0.02)
        logs = "".join(node.logs() for node in self.nodes.values())
        raise Failed(f"not all ranks came up for the {times}. time: {ups}\n{logs}")

    def await_world(self, size, since):
        """Until all ranks of a world of this size have come up since then."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            last = {rank: ups[-1] for rank, ups in self.ups().items()}
            there = [rank for rank, up in last.items() if up.world == size and up.at > since]
            if sorted(there) == list(range(size)):
                return
            time.sleep(0.05)
        raise Failed(f"of a world of {size} ranks only {sorted(there)} came up again")

    def await_links(self):
        """A fault before a node has its link is one that the others cannot hear of."""
        for index in range(1, self.count):
            deadline = time.monotonic() + DEADLINE
            while "connected to node 0" not in self.nodes[index].logs():
                if time.monotonic() >= deadline:
                    raise Failed(f"node {index} has no link:\n{self.nodes[index].logs()}")
                time.sleep(0.05)

    def ups(self):
        """When each rank came up, of how many, with which pid inside."""
        found = {}
        try:
            with open(self.path("up"), encoding="ascii") as file:
                for line in file:
                    at, rank, world, pid = line.split()
                    found.setdefault(int(rank), []).append(Up(float(at), int(world), int(pid)))
        except FileNotFoundError:
            pass
        return found

    def order(self, rank, line):
        """A line for a stub that is up, of shell for STUB; when it was given."""
        began = time.time()
        try:
            fifo = os.open(self.path(f"rank-{rank}"), os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            raise Failed(f"rank {rank} does not wait for an order: {error.strerror}") from None
        os.write(fifo, f"{line}\n".encode())
        os.close(fifo)
        return began

    def kill_rank(self, index, local):
        """A rank of a node, by its place there; when it was killed."""
        pid = self.nodes[index].process(self.ups()[index * self.ranks + local][-1].pid)
        began = time.time()
        os.kill(pid, signal.SIGKILL)
        return began

    def message(self, index):
        """The diagnosis of a node's termination message, its first line."""
        return self.termination(index).partition("\n")[0]

    def termination(self, index):
        with open(self.path(f"term-{index}"), encoding="utf-8") as file:
            return file.read()


def stamp(line):
    """The instant of a line of trainit, which may stand behind one of a rank that was cut off."""
    found = re.search(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d+)Z", line)
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
