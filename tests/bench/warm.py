#!/usr/bin/env python3
"""From a rank's death to the first all_reduce of the next start: warm, cold, and with torchrun.

    warm.py TRAINIT [--python PYTHON] [--ranks N] [--rounds N] [--warm LIST] [--drop-caches]

One node. In each round each way runs once, in a random order; ratios are of a round. Rank 1 dies
when its spares are ready, in the cold ways after the same time. With --drop-caches nothing of
Python is in memory at the start of a job, nor at the death of its rank: for root, and felt by the
whole machine.
"""

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

JOB = """
import os, sys, time
import torch
import torch.distributed as dist

def main():
    folder = os.environ['BENCH_FOLDER']
    start = int(os.environ.get('TORCHELASTIC_RESTART_COUNT', '0'))
    rank = int(os.environ['RANK'])
    dist.init_process_group('gloo')
    total = torch.tensor([rank + 1.0])
    dist.all_reduce(total)
    now = time.monotonic()
    if start > 0:
        with open('%s/reduced-%d' % (folder, rank), 'w') as file:
            file.write(repr(now))
        dist.barrier()
        os._exit(0)
    if rank == 1:
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


def state_of(folder):
    try:
        with open(folder + "/run/state.json") as file:
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

    def argv(self, way, script):
        ranks = str(self.asked.ranks)
        if way == "torchrun":
            return [self.asked.python, "-m", "torch.distributed.run", "--standalone",
                    "--nproc_per_node=" + ranks, "--max_restarts=1", "--monitor_interval=0.1",
                    "--redirects=1", "--tee=1", "--log_dir=" + script + ".logs",  # 1.13 below 3.11 has to
                    script]  # fmt: skip
        argv = [self.asked.trainit, "--fan-out", "--slots", ranks, "--max-restarts", "1",
                "--restart-delay", "0", "--output", "files"]  # fmt: skip
        if way == "warm":
            argv += ["--warm", self.asked.warm]
        return [*argv, "--", self.asked.python, script]

    def settle(self, way, folder, job):
        """Until the ranks run and, where some do, processes stand by for all of them."""
        until = time.monotonic() + 120
        while job.poll() is None:
            if time.monotonic() > until:
                sys.exit("%s: nothing stands by: %s" % (way, state_of(folder)["tasks"]))
            spares = spares_of(state_of(folder))
            if way != "warm" or len(spares) == self.asked.ranks:
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
        script = folder + "/train.py"
        with open(script, "w") as file:
            file.write(JOB)
        if self.asked.drop_caches:
            drop_caches()
        env = {"PATH": os.environ["PATH"], "BENCH_FOLDER": folder, "TRAINIT_RUN_DIR": folder + "/run"}
        if "USE_LIBUV" in os.environ:  # Debian's PyTorch 2.6 is built without it
            env["USE_LIBUV"] = os.environ["USE_LIBUV"]
        said = open(folder + "/said", "w+")
        job = subprocess.Popen(self.argv(way, script), env=env, cwd=folder, stdout=said,
                               stderr=said, stdin=subprocess.DEVNULL)  # fmt: skip
        self.settle(way, folder, job)
        open(folder + "/die", "w").close()
        job.wait()
        said.seek(0)
        try:
            died = float(open(folder + "/died").read())
            times = [float(open(folder + "/reduced-%d" % rank).read())
                     for rank in range(self.asked.ranks)]  # fmt: skip
        except OSError:
            sys.exit("%s did not restart: %s" % (way, said.read()))
        shutil.rmtree(folder, ignore_errors=True)
        return max(times) - died


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trainit")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--warm", default="torch,torch.distributed")
    parser.add_argument("--drop-caches", action="store_true")
    asked = parser.parse_args()
    asked.trainit = os.path.abspath(asked.trainit)
    ways = ["warm", "cold", "torchrun"]
    took = {way: [] for way in ways}
    rounds = Round(asked)
    for _ in range(asked.rounds):
        for way in random.sample(ways, len(ways)):
            took[way].append(rounds.run(way))
    cold = took["cold"]
    print("| %d ranks | median s | lowest | highest | x cold |" % asked.ranks)
    print("| --- | --- | --- | --- | --- |")
    for way in ways:
        ratio = statistics.median(a / b for a, b in zip(took[way], cold))
        numbers = (statistics.median(took[way]), min(took[way]), max(took[way]), ratio)
        print("| %s | %s |" % (way, " | ".join("%.3f" % number for number in numbers)))
    print("\nPSS of a process that stands by: %.0f MiB" % statistics.median(rounds.sizes))


main()
