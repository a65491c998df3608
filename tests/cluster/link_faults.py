#!/usr/bin/env python3
"""Seeded faults in jobs of several containers: whether all ranks come up, all nodes name the same
culprit, and the job ends or starts again as the documents say; and how long until all nodes know.

    link_faults.py TRAINIT IMAGE_TAR [--matrix] [--faults N] [--seed S] [--run N] [--only FACTOR=VALUE...]
                   [--jobs N] [--logs DIR]

Without --matrix: plain jobs, in which a rank exits, a rank is killed or a container is killed. With it:
jobs of each kind (fault_cells.py), which differ in nodes, hooks, data, what follows a failure, and CPU.
--only fixes factors. --faults: 100, with --matrix as many as cover each pair of values; more repeat that
with other seeds. --seed: TRAINIT_FAULTS_SEED, else days since 1970 (UTC). --run N: that one again.

Prints a line of JSON for each run and a summary; exits with 1 if a run was wrong. DIR gets the logs of
such runs. Runs as root, with DOCKER_HOST (engine.sh start DIR prints one) or the file TRAINIT_ENGINE.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import containers
import fault_cells
from containers import known_at, quantile

HERE = os.path.dirname(os.path.realpath(__file__))
HOOKS = os.path.join(HERE, "../../hooks")
RANKS = 2  # of a node
DATA_FILES = 200
PLANTED = "no shard 17 in this epoch"
SKIPPED = 77

HOOK = """#!/bin/sh
echo "a node's own check: error counters are read"
{wait}
exit {code}
"""


def draw(cell, rng):
    """What a cell leaves open."""
    fault, nodes = cell["fault"], cell["nodes"]
    last = nodes - 1
    shrinks = cell["mode"] == "elastic" and fault == "container killed" and rng.random() < 0.5
    node = {"node 0 killed": 0, "container killed": last if shrinks else rng.randint(1, last)}.get(
        fault, rng.randint(0, last)
    )
    return {
        "node": node,
        "rank": node * RANKS + rng.randrange(RANKS),
        "topology": rng.choice(("star", "ring")),
        "delay_s": rng.uniform(0, 1),
        "code": rng.choice((1, 7, 33, 210)),
        "raises": rng.random() < 0.5,
        "slow_node": rng.randint(0, last),
        "slow_s": rng.uniform(2, 5),
        "limited_from": rng.choice(("start", "fault")),
        "hook_waits": cell["mode"] == "stop" or rng.random() < 0.5,
        "replaced_after_s": rng.uniform(0, 3),
        "shrinks": shrinks,
        "save_node": rng.randint(0, last),
        "save_after_s": rng.uniform(-0.3, 0.3),
    }


class Run:
    """One job with one fault. `wrong` gets a line for each thing that was not right."""

    def __init__(self, image, binary, data, cell, rng):
        self.cell, self.drawn = cell, draw(cell, rng)
        self.wrong = []
        self.known_s = self.ended_s = None
        self.kept_logs = {}  # of containers that are gone
        flags = ["-v", f"{HERE}/rank_stub.py:/train.py:ro", "-e", f"TOPOLOGY={self.drawn['topology']}"]
        if cell["data"] == "copied":
            flags += ["-v", f"{data}:/mnt/source:ro", "-e", f"DATA_FILES={DATA_FILES}"]
        if cell["mode"] == "stop":
            flags += ["-e", "SAVE_ENDS=1"]
        self.job = containers.Job(image, binary, cell["nodes"], self.argv, RANKS, flags, self.node_flags)

    def argv(self, _):
        options = ["--framework=pytorch", "--fan-out", "--output=inherit"]
        if self.cell["data"] == "copied":
            options.append("--data=/mnt/source")
        if self.cell["mode"] == "stop":
            options.append("--signal=USR2=checkpoint")
        else:
            how = {"restart": "--restart-across-nodes", "elastic": "--elastic"}[self.cell["mode"]]
            options += [how, "--max-restarts=2", "--restart-window=60s"]
        if self.cell["warm"] == "warm":
            options.append("--warm=auto")
        return ["trainit", *options, "--", "python3", "/train.py"]

    def node_flags(self, index):
        flags = []
        if os.path.exists(self.job.path(f"hooks-{index}")):
            flags += ["-v", f"{self.job.path(f'hooks-{index}')}:/etc/trainit/hooks:ro"]
        if self.cell["data"] == "copied":
            os.makedirs(self.job.path(f"cache-{index}"), exist_ok=True)
            flags += ["-v", f"{self.job.path(f'cache-{index}')}:/cache"]
        if self.cell["mode"] == "elastic":
            flags += ["-e", "WORKER_HOST=", "-v", f"{self.job.path('hosts')}:/etc/volcano:ro"]
        if self.cell["cpu"] == "limited" and index == self.drawn["node"] and self.drawn["limited_from"] == "start":
            flags.append("--cpus=0.2")
        return flags

    def list_hosts(self, count):
        """As Volcano does: the whole file is replaced."""
        os.makedirs(self.job.path("hosts"), exist_ok=True)
        with open(self.job.path("hosts/new"), "w", encoding="ascii") as file:
            file.writelines(f"node-{index}\n" for index in range(count))
        os.rename(self.job.path("hosts/new"), self.job.path("hosts/worker.host"))

    def make_hooks(self):
        cell, drawn = self.cell, self.drawn
        for index in range(cell["nodes"]):
            folder = self.job.path(f"hooks-{index}")
            if cell["hooks"] == "project":
                shutil.copytree(HOOKS, folder)
            if cell["hooks"] == "slow" and index == drawn["slow_node"]:
                self.add_hook(folder, "50-slow", f"sleep {drawn['slow_s']:.2f}", 0)
            if cell["fault"] == "hook fails" and index == drawn["node"]:
                wait = "until [ -e /ctl/fail ]; do sleep 0.1; done" if drawn["hook_waits"] else ":"
                self.add_hook(folder, "60-check", wait, drawn["code"])

    @staticmethod
    def add_hook(folder, name, wait, code):
        os.makedirs(f"{folder}/pre-start.d", exist_ok=True)
        with open(f"{folder}/pre-start.d/{name}", "w", encoding="ascii") as file:
            file.write(HOOK.format(wait=wait, code=code))
        os.chmod(file.name, 0o755)

    def play(self):
        with self.job as job:
            try:
                self.list_hosts(job.count)
                self.make_hooks()
                job.start()
                if self.cell["fault"] == "hook fails":
                    self.fail_hook()
                else:
                    self.fail()
            except containers.Failed as failed:
                self.wrong.append(str(failed).partition("\n")[0])
            if self.wrong:
                self.keep_logs()

    def keep_logs(self):
        for index, node in self.job.nodes.items():
            self.kept_logs[f"node {index}"] = node.logs()
            with contextlib.suppress(OSError), open(self.job.path(f"run-{index}/events.jsonl"), encoding="utf-8") as file:
                self.kept_logs[f"node {index} events"] = file.read()

    # --- Faults ---

    def fail_hook(self):
        drawn = self.drawn
        began = time.time()
        if drawn["hook_waits"]:
            self.job.await_links()
            time.sleep(drawn["delay_s"])
            began = time.time()
            with open(self.job.path("fail"), "w", encoding="ascii"):
                pass
        self.judge_end(began, drawn["code"], rf"hook.*60-check.*node {drawn['node']}\b|node {drawn['node']}\b.*60-check")

    def fail(self):
        job, cell, drawn = self.job, self.cell, self.drawn
        job.await_up()
        job.await_links()
        if cell["cpu"] == "limited" and drawn["limited_from"] == "fault":
            containers.docker("update", "--cpus=0.2", job.nodes[drawn["node"]].name)
        time.sleep(drawn["delay_s"])
        began, code = self.strike()
        if cell["mode"] == "stop":
            self.judge_end(began, code, self.culprit(), saves=cell["fault"] == "checkpoint")
            return
        self.replace()
        size = (cell["nodes"] - drawn["shrinks"]) * RANKS
        job.await_world(size, began)
        self.judge_logs(began)
        for rank in range(size):
            job.order(rank, "done")
        self.judge_codes([0] * (cell["nodes"] - drawn["shrinks"]) + [137] * drawn["shrinks"], began)

    def strike(self):
        """When the culprit fails, and the code that its node ends with."""
        job, cell, drawn = self.job, self.cell, self.drawn
        node, rank = drawn["node"], drawn["rank"]
        if cell["fault"] in ("container killed", "node 0 killed"):
            began = time.time()
            job.nodes[node].kill()
            return began, 137
        if cell["fault"] == "rank exits":
            if drawn["raises"]:
                return job.order(rank, f"raise {PLANTED}"), 1
            return job.order(rank, f"exit {drawn['code']}"), drawn["code"]
        if cell["fault"] == "rank killed":
            return job.kill_rank(node, rank % RANKS), 137
        saves = threading.Timer(max(0, drawn["save_after_s"]), self.save)
        saves.start()
        time.sleep(max(0, -drawn["save_after_s"]))
        try:
            return job.kill_rank(node, rank % RANKS), 137
        except (containers.Failed, ProcessLookupError):
            return time.time(), 75  # it has saved and ended by then
        finally:
            saves.join()

    def save(self):
        node = self.job.nodes[self.drawn["save_node"]]
        if self.cell["mode"] == "stop":
            node.kill(signal.SIGUSR2)
        else:
            containers.docker("exec", node.name, "trainit", "checkpoint", "--keep-running", check=False)

    def replace(self):
        """As a platform answers the end of a container: another one, or a list without it."""
        drawn = self.drawn
        if self.cell["fault"] not in ("container killed", "node 0 killed"):
            return
        time.sleep(drawn["replaced_after_s"])
        if drawn["shrinks"]:
            self.list_hosts(self.cell["nodes"] - 1)
        else:
            self.kept_logs[f"node {drawn['node']}, killed"] = self.job.nodes[drawn["node"]].logs()
            self.job.start(drawn["node"])

    # --- Judgements ---

    def culprit(self):
        node, rank = self.drawn["node"], self.drawn["rank"]
        if self.cell["fault"] in ("container killed", "node 0 killed"):
            return rf"node {node}\b[^,]*lost"
        how = "was killed by SIGKILL"
        if self.cell["fault"] == "rank exits":
            how = f"exited with code {1 if self.drawn['raises'] else self.drawn['code']} "
        return rf"^rank-{rank} \(node {node}\b.*{how}"

    def survivors(self):
        """Nodes whose first container lives on after the fault."""
        killed = self.cell["fault"] in ("container killed", "node 0 killed")
        return [index for index in range(self.cell["nodes"]) if not (killed and index == self.drawn["node"])]

    def judge_end(self, began, code, culprit, saves=False):
        """The fault ends the job on all nodes."""
        own = self.drawn["node"]
        codes = self.judge_codes([code if index == own else 76 for index in range(self.cell["nodes"])], began, saves)
        if saves and set(codes) == {75}:
            return
        self.judge_logs(began, culprit)
        said = {index: self.job.message(index).removeprefix("trainit: ") for index in self.survivors()}
        for index, text in said.items():
            if not re.search(culprit, text):
                self.wrong.append(f"node {index}'s termination message names another culprit: {text}")
            with open(self.job.path(f"run-{index}/state.json"), encoding="utf-8") as file:
                state = json.load(file)["first_failure"]
            if state != text:
                self.wrong.append(f"node {index}'s state.json says {state}, its termination message {text}")
        if len(set(said.values())) > 1:
            self.wrong.append(f"the termination messages differ: {said}")

    def judge_codes(self, wanted, began, saves=False):
        codes = []
        for index in range(self.cell["nodes"]):
            self.ended_s = self.job.nodes[index].ended() - began
        codes = [self.job.nodes[index].code() for index in range(self.cell["nodes"])]
        if codes != wanted and not (saves and set(codes) == {75}):
            self.wrong.append(f"exit codes are {codes}, not {wanted}")
        return codes

    def judge_logs(self, began, culprit=None):
        known = []
        for index in self.survivors():
            log = self.job.nodes[index].logs()
            found = re.findall(r"first failure: (.*)", log)
            known.append(known_at(log))
            if len(found) != 1 or not re.search(culprit or self.culprit(), found[0]):
                self.wrong.append(f"node {index}'s log says {found} of the first failure")
            elif self.cell["fault"] == "rank exits" and self.drawn["raises"] and PLANTED not in found[0]:
                self.wrong.append(f"node {index}'s log says another cause: {found[0]}")
        if all(known):
            self.known_s = max(known) - began


def make_data(folder, rng):
    """A source of 20 to 50 MB in 200 files."""
    size = rng.randint(100_000, 250_000)
    for number in range(DATA_FILES):
        with open(f"{folder}/shard-{number:03d}", "wb") as file:
            file.write(rng.randbytes(size))


def cells_of(asked):
    """The cell of each run, by its number."""
    only = {}
    for word in asked.only:
        factor, _, value = word.partition("=")
        only[factor] = [one for one in fault_cells.FACTORS.get(factor, ()) if str(one) in value.split(",")]
        if not only[factor]:
            sys.exit(f"--only {word}: factors and values are {fault_cells.FACTORS}")
    if not asked.matrix:
        plain = {factor: [value] for factor, value in fault_cells.PLAIN.items()}
        only = {**plain, "fault": fault_cells.PLAIN_FAULTS, **only}
    cells = fault_cells.covering(random.Random(f"{asked.seed}/0"), only)
    count = asked.faults or (len(cells) if asked.matrix else 100)
    turn = 0
    while len(cells) < count:
        turn += 1
        cells += fault_cells.covering(random.Random(f"{asked.seed}/{turn}"), only)
    return cells[:count]


def summary(results):
    """Prints it; whether all is right."""
    for fault in fault_cells.FACTORS["fault"]:
        of_fault = [result for result in results if result["cell"]["fault"] == fault]
        known = [result["known_s"] for result in of_fault if result["known_s"] is not None]
        ended = [result["ended_s"] for result in of_fault if result["ended_s"] is not None]
        if known and ended:
            print(
                f"{fault}: {len(of_fault)} runs, known everywhere p50 {quantile(known, 50):.2f} s, "
                f"p99 {quantile(known, 99):.2f} s; all ended p50 {quantile(ended, 50):.2f} s, "
                f"p99 {quantile(ended, 99):.2f} s"
            )
    for factor, values in fault_cells.FACTORS.items():
        counts = []
        for value in values:
            of_value = [result for result in results if result["cell"][factor] == value]
            right = sum(not result["wrong"] for result in of_value)
            if of_value:
                counts.append(f"{value} {right} of {len(of_value)}")
        print(f"right by {factor}: {', '.join(counts)}")
    wrong = [result for result in results if result["wrong"]]
    for result in wrong:
        print(f"run {result['run']} {list(result['cell'].values())}: {'; '.join(result['wrong'])}")
    print(f"right: {len(results) - len(wrong)} of {len(results)}")
    return not wrong


def keep(folder, number, run):
    """The logs of a run that was wrong."""
    os.makedirs(folder, exist_ok=True)
    for name, log in run.kept_logs.items():
        with open(os.path.join(folder, f"run-{number} {name}.log"), "w", encoding="utf-8") as file:
            file.write(log)


def find_engine(asked):
    """Without an engine or an image the suite is skipped."""
    path = os.environ.get("TRAINIT_ENGINE")
    if path:
        with open(path, encoding="utf-8") as file:
            os.environ["DOCKER_HOST"] = file.read().strip()
        for missing, what in ((not os.environ["DOCKER_HOST"], "no Docker engine"), (not os.path.exists(asked.tar), f"no {asked.tar}")):
            if missing:
                print(f"SKIPPED: {what}")
                sys.exit(SKIPPED)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trainit")
    parser.add_argument("tar")
    parser.add_argument("--matrix", action="store_true")
    parser.add_argument("--faults", type=int)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TRAINIT_FAULTS_SEED", time.time() // 86400)))
    parser.add_argument("--run", type=int)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--logs")
    asked = parser.parse_args()
    find_engine(asked)
    cells = cells_of(asked)
    numbers = range(len(cells)) if asked.run is None else [asked.run]
    print(f"seed {asked.seed}, {len(numbers)} runs (TRAINIT_FAULTS_SEED or --seed repeats them)", flush=True)
    image = containers.import_image(asked.tar, f"trainit-link-{os.getpid()}")
    results = []

    def one(number):
        run = Run(image, os.path.realpath(asked.trainit), data, cells[number], random.Random(f"{asked.seed}/{number}"))
        run.play()
        result = {"run": number, "cell": run.cell, "drawn": run.drawn, "known_s": run.known_s, "ended_s": run.ended_s, "wrong": run.wrong}
        results.append(result)
        print(json.dumps(result), flush=True)
        if run.wrong and asked.logs:
            keep(asked.logs, number, run)
        elif run.wrong:
            for name, log in run.kept_logs.items():
                print(f"--- run {number}, {name}\n" + "\n".join(line for line in log.splitlines() if "trainit" in line))

    with tempfile.TemporaryDirectory(prefix="trainit-data.") as data:
        make_data(data, random.Random(asked.seed))
        try:
            with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
                for done in [pool.submit(one, number) for number in numbers]:
                    done.result()
        finally:
            containers.docker("rmi", "-f", image, check=False)
    sys.exit(0 if summary(results) else 1)


main()
