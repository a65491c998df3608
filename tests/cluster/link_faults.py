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
import collections
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
LIMIT = "--cpus=0.2"
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
            options += [how, "--max-restarts=2", "--restart-window=10m"]
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
        if index == self.drawn["node"] and self.limited_from() == "start":
            flags.append(LIMIT)
        return flags

    def limited_from(self):
        return self.drawn["limited_from"] if self.cell["cpu"] == "limited" else None

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

    def result(self, number):
        """What is printed of it."""
        return {
            "run": number,
            "cell": self.cell,
            "drawn": self.drawn,
            "known_s": self.known_s,
            "ended_s": self.ended_s,
            "wrong": self.wrong,
        }

    def keep_logs(self):
        for index, node in self.job.nodes.items():
            self.kept_logs[f"node {index}"] = node.logs()
            with contextlib.suppress(OSError):
                with open(self.job.path(f"run-{index}/events.jsonl"), encoding="utf-8") as file:
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
        self.judge_end(began, drawn["code"])

    def fail(self):
        job, cell, drawn = self.job, self.cell, self.drawn
        job.await_up()
        job.await_links()
        if self.limited_from() == "fault":
            containers.docker("update", LIMIT, job.nodes[drawn["node"]].name)
        time.sleep(drawn["delay_s"])
        began, code = self.strike()
        if cell["mode"] == "stop":
            self.judge_end(began, code, saves=cell["fault"] == "checkpoint")
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
        if self.kills_container():
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
        if not self.kills_container():
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
        if self.cell["fault"] == "hook fails":
            return rf"^node {node}\b.*the pre-start hook 60-check: .*found exit code {self.drawn['code']};"
        if self.kills_container():
            return rf"^node {node}\b[^,]* is lost"
        how = "was killed by SIGKILL"
        if self.cell["fault"] == "rank exits":
            how = f"exited with code {self.drawn['code']} "
        if self.cell["fault"] == "rank exits" and self.drawn["raises"]:
            how = r"(exited with code 1|was killed by SIGTERM \(it was failing when it was asked to stop\)) "
        return rf"^rank-{rank} \(node {node}\b.*{how}"

    def survivors(self):
        """Nodes whose first container lives on after the fault."""
        killed = [self.drawn["node"]] if self.kills_container() else []
        return [index for index in range(self.cell["nodes"]) if index not in killed]

    def kills_container(self):
        return self.cell["fault"] in ("container killed", "node 0 killed")

    def judge_end(self, began, code, saves=False):
        """The fault ends the job on all nodes."""
        own, count = self.drawn["node"], self.cell["nodes"]
        codes = self.judge_codes([code if index == own else 76 for index in range(count)], began, saves)
        if saves and set(codes) == {75}:
            return
        self.judge_logs(began)
        messages = [self.job.message(index) for index in self.survivors()]
        if len(set(messages)) > 1:
            self.wrong.append(f"the termination messages differ: {messages}")
        for index, message in zip(self.survivors(), messages):
            if not self.names_culprit(self.job.termination(index)):
                self.wrong.append(f"node {index}'s termination message names another culprit: {message}")
            with open(self.job.path(f"run-{index}/state.json"), encoding="utf-8") as file:
                state = json.load(file)["first_failure"]
            if state != message.removeprefix("trainit: "):
                self.wrong.append(f"node {index}'s state.json says {state}, its termination message {message}")

    def names_culprit(self, text):
        """Whether a first failure is of the culprit, or of a rank beside it with the culprit's cause."""
        text = text.removeprefix("trainit: ")
        who = text.split("first failure: ")[-1]
        same_node = rf"^rank-\d+ \(node {self.drawn['node']}\b"
        cause = f"cause (rank-{self.drawn['rank']}): ValueError: {PLANTED}"
        return bool(re.search(self.culprit(), who) or (re.search(same_node, who) and cause in text))

    def judge_codes(self, wanted, began, saves=False):
        nodes = [self.job.nodes[index] for index in range(self.cell["nodes"])]
        self.ended_s = max(node.ended() for node in nodes) - began
        codes = [node.code() for node in nodes]
        if codes != wanted and not (saves and set(codes) == {75}):
            self.wrong.append(f"exit codes are {codes}, not {wanted}")
        return codes

    def judge_logs(self, began):
        """Each survivor has said once which failure was the first."""
        known, others = [], collections.defaultdict(list)
        raises = self.cell["fault"] == "rank exits" and self.drawn["raises"]
        for index in self.survivors():
            log = self.job.nodes[index].logs()
            known.append(known_at(log))
            found = re.findall(r"error: (.*first failure: .*)", log)
            right = len(found) == 1 and self.names_culprit(found[0]) and (PLANTED in found[0] or not raises)
            if not right:
                others["; then: ".join(found) or "nothing"].append(index)
        for found, indices in others.items():
            self.wrong.append(f"the logs of nodes {indices} say of the first failure: {found}")
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
    """The logs of a run that was wrong; without a folder trainit's lines of them are printed."""
    for name, log in run.kept_logs.items():
        if not folder:
            lines = (line for line in log.splitlines() if " trainit" in line)
            print(f"--- run {number}, {name}", *lines, sep="\n", flush=True)
            continue
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"run-{number} {name}.log"), "w", encoding="utf-8") as file:
            file.write(log)


def find_engine(asked):
    """Without an engine or an image the suite is skipped."""
    path = os.environ.get("TRAINIT_ENGINE")
    if path:
        with open(path, encoding="utf-8") as file:
            os.environ["DOCKER_HOST"] = file.read().strip()
        if not os.environ["DOCKER_HOST"] or not os.path.exists(asked.tar):
            print(f"SKIPPED: no Docker engine, or no {asked.tar}")
            sys.exit(SKIPPED)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trainit")
    parser.add_argument("tar")
    parser.add_argument("--matrix", action="store_true")
    parser.add_argument("--faults", type=int)
    seed = int(os.environ.get("TRAINIT_FAULTS_SEED", time.time() // 86400))
    parser.add_argument("--seed", type=int, default=seed)
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
        rng = random.Random(f"{asked.seed}/{number}")
        run = Run(image, os.path.realpath(asked.trainit), data, cells[number], rng)
        run.play()
        results.append(run.result(number))
        print(json.dumps(results[-1]), flush=True)
        if run.wrong:
            keep(asked.logs, number, run)

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
