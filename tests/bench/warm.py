#!/usr/bin/env python3
"""From a rank's death to the first all_reduce of the next start: warm, cold, and with torchrun.

    warm.py TRAINIT [--python PYTHON] [--nodes N] [--ranks N] [--rounds N] [--warm LIST]
            [--drop-caches]

`--ranks` is a node's. Nodes are processes of this machine, with addresses of 127.0.0.0/8. In each
round each way runs once, in a random order; ratios are of a round. The last rank dies when the
spares of all are ready, in the cold ways after the same time. With --drop-caches nothing of Python
is in memory at the start of a job, nor at the death of its rank: for root, and felt by the whole
machine. With --steps it says when, after the death, the ranks began, met and reduced.
"""

import argparse
import glob
import json
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

JOB = """
import os, sys, time
begun = time.monotonic()
import torch
import torch.distributed as dist

def main():
    folder = os.environ['BENCH_FOLDER']
    start = int(os.environ.get('TORCHELASTIC_RESTART_COUNT', '0'))
    rank = int(os.environ['RANK'])
    times = [begun, time.monotonic()]
    dist.init_process_group('gloo')
    times.append(time.monotonic())
    total = torch.tensor([rank + 1.0])
    dist.all_reduce(total)
    times.append(time.monotonic())
    if start > 0:
        with open('%s/reduced-%d' % (folder, rank), 'w') as file:
            file.write(repr(times))
    elif rank == 0:
        open(folder + '/reduced-first', 'w').close()
    if start > 0:
        dist.barrier()
        os._exit(0)
    if rank == int(os.environ['WORLD_SIZE']) - 1:
        while not os.path.exists(folder + '/die'):
            time.sleep(0.01)
        with open(folder + '/died', 'w') as file:
            file.write(repr(time.monotonic()))
        os._exit(9)
    dist.all_reduce(total)

main()
"""


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def state_of(folder, node):
    try:
        with open("%s/run%d/state.json" % (folder, node)) as file:
            return json.load(file)
    except (OSError, ValueError):
        return {"tasks": []}


def spares_of(state):
    texts = [task.get("warm") or "" for task in state["tasks"]]
    return [int(found[1]) for found in (re.match("ready: pid ([0-9]+)", t) for t in texts) if found]


def pss_mb(pid):
    with open("/proc/%d/smaps_rollup" % pid) as file:
        return int(re.search("^Pss: +([0-9]+)", file.read(), re.M)[1]) / 1024


class Round:
    def __init__(self, asked):
        self.asked = asked
        self.sizes = []

    def argv(self, way, folder, node):
        ranks, nodes, script = str(self.asked.ranks), self.asked.nodes, folder + "/train.py"
        if way == "torchrun":
            meet = ["--standalone"] if nodes == 1 else [
                "--nnodes=%d" % nodes, "--rdzv_backend=c10d", "--rdzv_id=bench",
                "--rdzv_endpoint=127.0.0.1:%d" % self.port]  # fmt: skip
            return [self.asked.python, "-m", "torch.distributed.run", *meet,
                    "--nproc_per_node=" + ranks, "--max_restarts=1", "--monitor_interval=0.1",
                    "--redirects=1", "--tee=1",  # 1.13 below 3.11 has to
                    "--log_dir=%s/logs%d" % (folder, node),
                    script]  # fmt: skip
        argv = [self.asked.trainit, "--fan-out", "--slots", ranks, "--max-restarts", "1",
                "--restart-delay", "0", "--output", "files"]  # fmt: skip
        if nodes > 1:
            hosts = ",".join("127.0.0.%d" % (i + 1) for i in range(nodes))
            argv += ["--platform=bare", "--nodes", str(nodes), "--node-rank", str(node),
                     "--hosts", hosts, "--master-port", str(self.port),
                     "--restart-across-nodes"]  # fmt: skip
        if way == "warm":
            argv += ["--warm", self.asked.warm]
        return [*argv, "--", self.asked.python, script]

    def settle(self, way, folder, jobs):
        """Until the ranks run and, where some do, processes stand by for all of them."""
        until = time.monotonic() + 120
        wanted = self.asked.ranks * self.asked.nodes
        while all(job.poll() is None for job in jobs):
            states = [state_of(folder, node) for node in range(self.asked.nodes)]
            if time.monotonic() > until:
                sys.exit("%s: nothing stands by: %s" % (way, states))
            spares = sum((spares_of(state) for state in states), [])
            if way != "warm" or len(spares) == wanted:
                break
            time.sleep(0.05)
        while way != "warm" and not os.path.exists(folder + "/reduced-first"):
            if any(job.poll() is not None for job in jobs):
                break
            time.sleep(0.05)
        if way == "warm":
            self.sizes += [pss_mb(pid) for pid in spares]
        time.sleep(0.2)
        if self.asked.drop_caches:
            drop_caches()

    def run(self, way):
        """Seconds."""
        folder = tempfile.mkdtemp(prefix="trainit-warm-")
        with open(folder + "/train.py", "w") as file:
            file.write(JOB)
        if self.asked.drop_caches:
            drop_caches()
        self.port = free_port()
        said = open(folder + "/said", "w+")
        jobs = []
        for node in range(self.asked.nodes):
            env = {"PATH": os.environ["PATH"], "BENCH_FOLDER": folder,
                   "TRAINIT_RUN_DIR": "%s/run%d" % (folder, node)}  # fmt: skip
            if "USE_LIBUV" in os.environ:  # Debian's PyTorch 2.6 is built without it
                env["USE_LIBUV"] = os.environ["USE_LIBUV"]
            jobs.append(subprocess.Popen(self.argv(way, folder, node), env=env, cwd=folder,
                                         stdout=said, stderr=said,
                                         stdin=subprocess.DEVNULL))  # fmt: skip
        self.settle(way, folder, jobs)
        open(folder + "/die", "w").close()
        for job in jobs:
            job.wait()
        said.seek(0)
        try:
            died = float(open(folder + "/died").read())
            times = [json.load(open("%s/reduced-%d" % (folder, rank)))
                     for rank in range(self.asked.ranks * self.asked.nodes)]  # fmt: skip
        except OSError:
            sys.exit("%s did not restart: %s" % (way, said.read()))
        if self.asked.steps:
            print(way)
            for rank, steps in enumerate(times):
                print("  rank %d: began, imported, met, reduced: %s" % (
                    rank, " ".join("%.3f" % (at - died) for at in steps)))  # fmt: skip
            print(said.read(), flush=True)
            for log in glob.glob(folder + "/run*/logs/*.log"):
                with open(log) as file:
                    print(log, file.read())
        shutil.rmtree(folder, ignore_errors=True)
        return max(steps[-1] for steps in times) - died


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trainit")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--warm", default="torch,torch.distributed")
    parser.add_argument("--drop-caches", action="store_true")
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--ways", default="warm,cold,torchrun")
    asked = parser.parse_args()
    asked.trainit = os.path.abspath(asked.trainit)
    ways = asked.ways.split(",")
    took = {way: [] for way in ways}
    rounds = Round(asked)
    for _ in range(asked.rounds):
        for way in random.sample(ways, len(ways)):
            took[way].append(rounds.run(way))
    cold = took[ways[-1] if "cold" not in ways else "cold"]
    print("| %d x %d ranks | median s | lowest | highest | x cold |" % (asked.nodes, asked.ranks))
    print("| --- | --- | --- | --- | --- |")
    for way in ways:
        ratio = statistics.median(a / b for a, b in zip(took[way], cold))
        numbers = (statistics.median(took[way]), min(took[way]), max(took[way]), ratio)
        print("| %s | %s |" % (way, " | ".join("%.3f" % number for number in numbers)))
    print("\nPSS of a process that stands by: %.0f MiB" % statistics.median(rounds.sizes or [0]))


main()
