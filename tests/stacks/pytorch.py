#!/usr/bin/python3
"""The PyTorch of a Debian release over two containers with trainit as PID 1.

pytorch.py TRAINIT TAR [--only WAY,WAY]

Each way of starting the ranks runs a step of DDP whose gradients are checked, fails on one rank, is
stopped by `docker stop`, and comes back after a failure. Prints a line for each with what the
termination log of the failed node says; exits 1 when one is not as it should be.
"""

import argparse
import dataclasses
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
import containers  # pylint: disable=wrong-import-position

NODES, RANKS, GRACE = 2, 2, 20
PLANTED = "planted by torch_ddp.py"
HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = "/stacks/torch_ddp.py"
STATIC = [
    "--nnodes",
    "${WORLD_SIZE}",
    "--nproc_per_node",
    "${SLOTS}",
    "--node_rank",
    "${RANK}",
    "--master_addr",
    "${MASTER_ADDR}",
    "--master_port",
    "${MASTER_PORT}",
]
# For `trainit --platform kubeflow`: Trainer v2's variables of an elastic job. It is trainit that
# starts it again: agents that restart by themselves with gloo miss each other, and sit there.
ELASTIC = {
    "PET_NNODES": "1:2",
    "PET_NPROC_PER_NODE": str(RANKS),
    "PET_RDZV_BACKEND": "c10d",
    "PET_RDZV_ENDPOINT": "node-0:29400",
    "PET_RDZV_ID": "stacks",
    "PET_RDZV_CONF": "last_call_timeout=5",
    "PET_MAX_RESTARTS": "0",
}
ACROSS = ["--max-restarts", "1", "--restart-across-nodes", "--restart-delay", "100ms"]


@dataclasses.dataclass(frozen=True)
class Way:
    """How the ranks are started, and what is to be seen when one fails."""

    name: str
    options: tuple
    command: tuple = ("python3", SCRIPT)
    environment: tuple = ()
    needs: str = ""  # a module of the image


WAYS = (
    Way("fan-out", ("--fan-out", "--output", "tee")),
    Way("torchrun", ("--framework", "pytorch", "--torch-launcher", "torchrun")),
    Way(
        "torchrun-typed",
        ("--framework", "pytorch"),
        ("bash", "-c", f"exec torchrun {' '.join(STATIC)} {SCRIPT} \"$@\"", "bash"),
    ),
    Way("torchrun-elastic", ("--platform", "kubeflow"), environment=tuple(ELASTIC.items())),
    Way(
        "accelerate",
        ("--framework", "pytorch"),
        (
            "bash",
            "-c",
            "exec accelerate launch --multi_gpu --num_machines ${WORLD_SIZE} --num_processes 4 "
            "--machine_rank ${RANK} --main_process_ip ${MASTER_ADDR} "
            "--main_process_port ${MASTER_PORT} "
            f'--mixed_precision no --dynamo_backend no {SCRIPT} "$@"',
            "bash",
        ),
        needs="accelerate",
    ),
)


def start(image, binary, way, script_args, options=()):
    flags = ["-v", f"{HERE}:/stacks:ro"]
    for name, value in way.environment:
        flags += ["-e", f"{name}={value}"]
    job = containers.Job(
        image,
        binary,
        NODES,
        lambda _: ["trainit", *way.options, *options, "--", *way.command, *script_args],
        RANKS,
        flags,
    )
    try:
        job.start()
    except BaseException:
        job.__exit__()
        raise
    return job


def logs(job):
    return "".join(job.nodes[index].logs() for index in sorted(job.nodes))


def ranks_seen(job):
    """The ranks whose gradient was right, each as often as it said so."""
    wanted = (NODES * RANKS + 1) / 2
    return sorted(
        int(rank)
        for rank in re.findall(
            rf"rank (\d+) of {NODES * RANKS} on \S+: gradient {wanted}\n", logs(job)
        )
    )


def await_ranks(job):
    deadline = time.monotonic() + containers.DEADLINE
    while len(ranks_seen(job)) < NODES * RANKS:
        if time.monotonic() > deadline:
            raise AssertionError("not all ranks came up")
        time.sleep(0.2)


def codes(job):
    return [job.nodes[index].code() for index in range(NODES)]


def check(ok, text):
    if not ok:
        raise AssertionError(text)


def ends_with_0(job):
    found = codes(job)
    check(found == [0, 0], f"exit codes {found}")
    check(ranks_seen(job) == [0, 1, 2, 3], f"ranks {ranks_seen(job)}")
    return "each rank once, each gradient right"


def fails(job):
    found = codes(job)
    check(0 not in found, f"exit codes {found}")
    for index in range(NODES):
        with open(job.path(f"term-{index}"), encoding="utf-8") as file:
            said = file.read()
        named = re.search(r"rank[ -]3\b", said.partition("\n")[0])
        check(PLANTED in said and named, f"node {index} says: {said}")
    return f"{found}; node 0 says: {job.message(0)}"


def is_stopped(job):
    await_ranks(job)
    began = time.monotonic()
    containers.docker("stop", "-t", str(GRACE), *[node.name for node in job.nodes.values()])
    took = time.monotonic() - began
    found = codes(job)
    check(found == [143, 143], f"exit codes {found}")
    check(took < GRACE, "the grace was over")
    return "143 on both nodes"


def starts_again(job):
    found = codes(job)
    check(found == [0, 0], f"exit codes {found}")
    check(ranks_seen(job) == sorted([0, 1, 2, 3] * 2), f"ranks {ranks_seen(job)}")
    return "0 after one restart, each rank twice"


# What is seen, and the script's arguments for it.
SCENES = (
    (ends_with_0, []),
    (fails, ["--fail-on-rank", "3"]),
    (is_stopped, ["--until-stopped"]),
    (starts_again, ["--fail-on-rank", "3", "--once", "/ctl/failed"]),
)


def play(scene, script_args, image, binary, way):
    """What is told of a scene; an AssertionError with the logs where it went wrong."""
    with start(image, binary, way, script_args, ACROSS if scene is starts_again else ()) as job:
        try:
            return scene(job)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{logs(job)}") from None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trainit")
    parser.add_argument("tar")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    image = containers.import_image(asked.tar, f"trainit-stack-{os.getpid()}", "USE_LIBUV=0")
    wrong = 0
    try:
        run = ["run", "--rm", image, "python3", "-c"]
        print(
            containers.docker(
                *run,
                "import sys, torch; "
                "print('PyTorch', torch.__version__, 'Python', sys.version.split()[0])",
            ),
            end="",
        )
        for way in WAYS:
            if asked.only and way.name not in asked.only.split(","):
                continue
            if way.needs and "no" in containers.docker(
                *run,
                f"import importlib.util as u; print('yes' if u.find_spec('{way.needs}') else 'no')",
            ):
                print(f"{way.name}: not in this release")
                continue
            for scene, script_args in SCENES:
                try:
                    said = play(scene, script_args, image, os.path.abspath(asked.trainit), way)
                except AssertionError as error:
                    wrong += 1
                    said = f"WRONG: {error}"
                print(f"{way.name}: {scene.__name__}: {said}", flush=True)
    finally:
        containers.docker("rmi", "--force", image, check=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
