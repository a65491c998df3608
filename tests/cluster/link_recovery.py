#!/usr/bin/env python3
"""From the death of a rank on one of two nodes to four running ranks, beside torchrun's agents.

    link_recovery.py TRAINIT TORCH_IMAGE_TAR [--rounds N] [--paragraph TRAINIT...]

Two containers with two ranks each, stubs whose victims would sit for 45 s. In each round each way
runs once, in a random order; ratios are of a round. With --paragraph: one failure with each
of these programs, without and with a restart. Run as root, with DOCKER_HOST.
"""

import argparse
import os
import random
import sys
import time

import containers
from containers import STUB, known_at, quantile

SIT_S = 45
SETTLE_S = 3  # a link that can be made is made by then
RESTART = ["--restart-across-nodes", "--max-restarts=3"]


def trainit_argv(options):
    options = ["--framework=pytorch", "--fan-out", "--output=inherit", *options]
    return lambda _: ["trainit", *options, "--", "bash", "-c", STUB]


def torchrun_argv(options):
    return lambda _: [
        "torchrun", "--nnodes=2", "--nproc_per_node=2", "--max_restarts=3", "--rdzv_id=job",
        "--rdzv_backend=c10d", "--rdzv_endpoint=node-0:29400", *options, "--no_python", "bash",
        "-c", STUB,
    ]  # fmt: skip


def new_job(image, binary, argv, sit_s=SIT_S):
    return containers.Job(image, binary, 2, argv, flags=["-e", f"SIT={sit_s}"])


def recover(image, binary, argv):
    """Seconds until both nodes have said so (None: they do not), and until all ranks run again."""
    with new_job(image, binary, argv) as job:
        job.start()
        job.await_up()
        time.sleep(1)
        began = job.kill_rank(1, 1)
        again = job.await_up(times=2) - began
        known = [known_at(node.logs()) for node in job.nodes.values()]
        return (max(known) - began if all(known) else None), again


def compare(image, binary, rounds):
    # How often an agent looks at its workers: every 5 s in 1.13, every 0.1 s from 2.3 on.
    ways = {
        "trainit": trainit_argv(RESTART),
        "torchrun": torchrun_argv([]),
        "torchrun --monitor_interval=0.1": torchrun_argv(["--monitor_interval=0.1"]),
    }
    again = {name: [] for name in ways}
    known = []
    rng = random.Random(1)
    for _ in range(rounds):
        for name in rng.sample(sorted(ways), len(ways)):
            told_s, again_s = recover(image, binary, ways[name])
            again[name].append(again_s)
            if told_s is not None:
                known.append(told_s)
    print(f"### A rank of one of two nodes is killed, {rounds} rounds, each in a random order\n")
    print("| | median s | least-most | x trainit, of the same round |\n| --- | --- | --- | --- |")
    print(f"| trainit: known on both | {spread(known)} | |")
    for name, values in again.items():
        ratios = [value / ours for value, ours in zip(values, again["trainit"])]
        print(f"| {name}: all ranks run again | {spread(values)} | {quantile(ratios, 50):.2f} |")


def spread(values):
    return f"{quantile(values, 50):.2f} | {min(values):.2f}-{max(values):.2f}"


def paragraph(image, binary):
    """The victims sit for 33 s after the fault, and none has a link where the program knows none."""
    print(f"## {binary}")
    with new_job(image, binary, trainit_argv([]), sit_s=SETTLE_S + 33) as job:
        job.start()
        job.await_up()
        time.sleep(SETTLE_S)
        began = job.kill_rank(1, 1)
        ended = [(index, job.nodes[index].ended() - began) for index in (1, 0)]
        for index, after_s in ended:
            print(f"node {index} ended after {after_s:.1f} s ", end="")
            print(f"with {job.nodes[index].code()}: {job.message(index)}", flush=True)
    told_s, again_s = recover(image, binary, trainit_argv(RESTART))
    print(f"with a restart: four ranks again after {again_s:.1f} s\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trainit")
    parser.add_argument("tar")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--paragraph", nargs="+", default=[])
    asked = parser.parse_args()
    image = containers.import_image(asked.tar, f"trainit-recovery-{os.getpid()}")
    try:
        for binary in asked.paragraph:
            paragraph(image, os.path.realpath(binary))
        if asked.rounds > 0:
            compare(image, os.path.realpath(asked.trainit), asked.rounds)
    finally:
        containers.docker("rmi", "-f", image, check=False)


sys.exit(main())
