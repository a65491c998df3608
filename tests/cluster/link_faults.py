#!/usr/bin/env python3
"""Seeded faults in jobs of several containers: how long until all nodes know, and whether all name
the same culprit.

    link_faults.py TRAINIT IMAGE_TAR [--faults N] [--seed S] [--nodes N]

Kinds: a rank ends with a code, a rank is killed, a container is killed; at a seeded time, on a
seeded node. A node knows when it says "first failure". Takes some four seconds a fault; run on
demand, as root, with DOCKER_HOST (engine.sh start DIR prints one).
"""

import argparse
import json
import os
import random
import re
import sys
import time

import containers
from containers import STUB, known_at, quantile

KINDS = ("rank exits", "rank killed", "container killed")


def one_fault(image, binary, nodes, rng):
    kind, node, local = rng.choice(KINDS), rng.randrange(nodes), rng.randrange(2)
    rank, delay = node * 2 + local, rng.uniform(0, 1)
    options = ["--framework=pytorch", "--fan-out", "--output=inherit"]
    argv = ["trainit", *options, "--", "bash", "-c", STUB]
    with containers.Job(image, binary, nodes, lambda _: argv) as job:
        job.start()
        job.await_up()
        job.await_links()
        time.sleep(delay)
        if kind == "rank exits":
            began = job.order(rank, "exit 7")
        elif kind == "rank killed":
            began = job.kill_rank(node, local)
        else:
            began = time.time()
            job.nodes[node].kill()
        ended = max(job.nodes[index].ended() for index in range(nodes)) - began
        codes = [job.nodes[index].code() for index in range(nodes)]
        alive = [i for i in range(nodes) if kind != "container killed" or i != node]
        known = [known_at(job.nodes[index].logs()) for index in alive]
        messages = [job.message(index) for index in alive]
    own = {"rank exits": 7, "rank killed": 137, "container killed": 137}[kind]
    culprit = rf"^trainit: node {node}\b.* is lost" if len(alive) < nodes else rf"^trainit: rank-{rank} \(node {node}\b"
    return {
        "kind": kind,
        "rank": rank,
        "node": node,
        "known_s": round(max(known) - began, 3) if all(known) else None,
        "ended_s": round(ended, 3),
        "codes": codes,
        "codes_right": codes == [own if i == node else 76 for i in range(nodes)],
        "same": len(set(messages)) == 1 and bool(re.search(culprit, messages[0])),
        "messages": messages,
    }


def summary(results):
    for kind in KINDS:
        of_kind = [result for result in results if result["kind"] == kind]
        known = [result["known_s"] for result in of_kind if result["known_s"] is not None]
        if not known:
            continue
        ended = [result["ended_s"] for result in of_kind]
        print(
            f"{kind}: {len(of_kind)} faults, known everywhere p50 {quantile(known, 50):.2f} s, "
            f"p99 {quantile(known, 99):.2f} s; all ended p50 {quantile(ended, 50):.2f} s, "
            f"p99 {quantile(ended, 99):.2f} s"
        )
    same = sum(result["same"] for result in results)
    right = sum(result["codes_right"] for result in results)
    print(f"the same and right culprit in all termination messages: {same} of {len(results)}")
    print(f"the right exit codes: {right} of {len(results)}")
    return same == len(results) and right == len(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trainit")
    parser.add_argument("tar")
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=3)
    asked = parser.parse_args()
    image = containers.import_image(asked.tar, f"trainit-link-{os.getpid()}")
    results = []
    try:
        for number in range(asked.faults):
            rng = random.Random(f"{asked.seed}/{number}")
            results.append(one_fault(image, os.path.realpath(asked.trainit), asked.nodes, rng))
            print(json.dumps({"fault": number, **results[-1]}), flush=True)
    finally:
        containers.docker("rmi", "-f", image, check=False)
    sys.exit(0 if summary(results) else 1)


main()
