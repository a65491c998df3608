#!/usr/bin/python3
"""A real Slurm over two containers, whose steps are started below trainit.

slurm.py TRAINIT TAR

slurmctld and two slurmd, with shared keys instead of munge. Prints a line for each scene; exits 1
when one is not as it should be.
"""

import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
import containers  # pylint: disable=wrong-import-position

# proctrack/linuxproc and no cgroups: the containers may not make any.
CONFIGURATION = """ClusterName=stacks
SlurmctldHost=node-0
SlurmUser=root
AuthType=auth/slurm
CredType=cred/slurm
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmdSpoolDir=/var/spool/slurmd
StateSaveLocation=/var/spool/slurmctld
SlurmdLogFile=/var/log/slurmd.log
SlurmctldLogFile=/var/log/slurmctld.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
RequeueExit=75
KillWait=20
GresTypes=gpu
NodeName=node-[0-1] CPUs=2 Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

# Slurm looks whether they are there, not what they are.
DEVICES = "Name=gpu File=/var/device[0-1]\n"

START = """
cp /share/slurm.conf /share/gres.conf /share/slurm.key /etc/slurm/
chmod 600 /etc/slurm/slurm.key
mkdir -p /var/spool/slurmd /var/spool/slurmctld
touch /var/device0 /var/device1
[ "$(hostname)" != node-0 ] || slurmctld
slurmd -N "$(hostname)"
exec sleep infinity
"""

# Saves on USR1 and TERM; what has been saved is the end of the next start.
TRAIN = """
import os, signal, sys, time
asked = []
for number in (signal.SIGUSR1, signal.SIGTERM):
    signal.signal(number, lambda received, frame: asked.append(received))
saved = "/share/saved-" + os.environ["RANK"]
if os.path.exists(saved):
    print("goes on, rank", os.environ["RANK"], flush=True)
    sys.exit(0)
print("begins, rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], flush=True)
while not asked:
    time.sleep(0.05)
open(saved, "w").close()
print("saved, rank", os.environ["RANK"], "signal", asked[0], flush=True)
"""

# The image's scripts, with what this cluster has.
SCRIPTS = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "images", "slurm"
)
LESS = "--gpus-per-node=2 --cpus-per-task=1 --time=00:01:05 --output=/share/out-%j".split()

SAYS = "echo rank $RANK of $WORLD_SIZE local $LOCAL_RANK master $MASTER_ADDR on $(hostname)"


class Slurm:
    """Two containers: node-0, which has the controller too, and node-1."""

    def __init__(self, image, binary):
        self.folder = tempfile.TemporaryDirectory(prefix="trainit-slurm.")
        self.name = os.path.basename(self.folder.name)
        os.chmod(self.folder.name, 0o755)
        for name, content in (
            ("slurm.conf", CONFIGURATION),
            ("train.py", TRAIN),
            ("gres.conf", DEVICES),
        ):
            with open(self.path(name), "w", encoding="ascii") as file:
                file.write(content)
        with open(self.path("slurm.key"), "wb") as file:
            file.write(os.urandom(1024))
        containers.docker("network", "create", "--internal", self.name)
        for index in range(2):
            containers.docker(
                "run",
                "--detach",
                "--name",
                f"{self.name}-{index}",
                "--hostname",
                f"node-{index}",
                "--network",
                self.name,
                "--network-alias",
                f"node-{index}",
                "-v",
                f"{self.folder.name}:/share",
                "-v",
                f"{binary}:/usr/local/bin/trainit:ro",
                "-v",
                f"{os.path.abspath(SCRIPTS)}:/scripts:ro",
                image,
                "sh",
                "-c",
                START,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for index in range(2):
            containers.docker("rm", "--force", f"{self.name}-{index}", check=False)
        containers.docker("network", "rm", self.name, check=False)
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run(self, *argv):
        return containers.docker("exec", f"{self.name}-0", *argv, check=False)

    def srun(self, tasks, *argv):
        """The exit code of a step on both nodes, and what it said."""
        said = self.run(
            "sh",
            "-c",
            'srun "$@"; echo "exit code $?"',
            "sh",
            "-N2",
            f"--ntasks-per-node={tasks}",
            *argv,
        )
        return int(said.rsplit("exit code ", 1)[1]), said

    def sbatch(self, script="node.sbatch", *more):
        for name in os.listdir(self.folder.name):
            if name.startswith("saved-"):
                os.unlink(self.path(name))
        command = ["python3", "-u", "/share/train.py"]
        said = self.run(
            "env", "TRAINIT_OUTPUT=tee", "sbatch", "--parsable", *LESS, *more,
            f"/scripts/{script}", *command,
        ).strip()
        check(said.isdigit(), said)
        return said

    def output(self, job):
        try:
            with open(self.path(f"out-{job}"), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def await_idle(self):
        await_that(
            lambda: re.search(r"idle node-\[0-1\]", self.run("sinfo")), lambda: self.run("sinfo")
        )

    def await_state(self, job, pattern):
        return await_that(
            lambda: re.search(pattern, self.run("scontrol", "show", "job", job)),
            lambda: self.run("scontrol", "show", "job", job) + self.output(job),
        )


def check(ok, text):
    if not ok:
        raise AssertionError(text)


def await_that(holds, what):
    deadline = time.monotonic() + containers.DEADLINE
    while time.monotonic() < deadline:
        if found := holds():
            return found
        time.sleep(0.2)
    raise AssertionError(f"did not come: {what()}")


def ranks(said):
    return sorted(re.findall(r"rank (\d) of 4 local (\d) master (\S+) on (\S+)", said))


WANTED = [(str(rank), str(rank % 2), "node-0", f"node-{rank // 2}") for rank in range(4)]


def one_task_a_node(slurm):
    code, said = slurm.srun(
        1, "trainit", "--fan-out", "--slots", "2", "--output", "tee", "--", "sh", "-c", SAYS
    )
    check(code == 0 and ranks(said) == WANTED, said)
    return "4 ranks, each once, one master"


def one_task_a_device(slurm):
    code, said = slurm.srun(2, "trainit", "--framework", "pytorch", "--", "sh", "-c", SAYS)
    check(code == 0 and ranks(said) == WANTED, said)
    return "4 ranks, each once, one master"


def a_rank_fails(slurm):
    script = (
        "import os, time\n"
        "if os.environ['RANK'] == '3': raise ValueError('planted')\n"
        "time.sleep(1000)"
    )
    code, said = slurm.srun(
        1, "trainit", "--fan-out", "--slots", "2", "--", "python3", "-c", script
    )
    # srun has the greatest of its tasks' codes: 76 of the node whose ranks were stopped.
    check(code == 76, said)
    named = re.findall(
        r"trainit\[(node \d)\]: error: the cause: ValueError: planted; "
        r"first failure: rank-3 \(node 1 node-1\)",
        said,
    )
    check(sorted(named) == ["node 0", "node 1"], said)
    return "both nodes name rank 3 and its cause"


def a_restart(slurm):
    script = (
        "test -e /share/once || { [ $RANK != 3 ] || { touch /share/once; exit 3; }; "
        "exec sleep 1000; }; " + SAYS
    )
    code, said = slurm.srun(
        1,
        "trainit",
        "--fan-out",
        "--slots",
        "2",
        "--output",
        "tee",
        "--max-restarts",
        "1",
        "--restart-across-nodes",
        "--restart-delay",
        "100ms",
        "--",
        "sh",
        "-c",
        script,
    )
    check(code == 0 and ranks(said) == WANTED, said)
    return "0 after one restart, each rank once more"


def scancel(slurm):
    job = slurm.sbatch()
    await_that(
        lambda: len(re.findall("begins, rank", slurm.output(job))) == 4, lambda: slurm.output(job)
    )
    slurm.run("scancel", job)
    slurm.await_state(job, "JobState=CANCELLED")
    await_that(
        lambda: len(re.findall("exit code 143", slurm.output(job))) >= 2, lambda: slurm.output(job)
    )
    check(len(re.findall(r"saved, rank \d signal 15", slurm.output(job))) == 4, slurm.output(job))
    check("another one takes its place" not in slurm.output(job), slurm.output(job))
    return "TERM to each rank, which saves; 143 on both nodes"


def the_time_limit_of_a_task_a_device(slurm):
    return the_time_limit(slurm, "device.sbatch", "--ntasks-per-node=2")


def the_time_limit(slurm, *script):
    """USR1 a minute before it, exit code 75, requeued by Slurm, which starts it again."""
    job = slurm.sbatch(*script)
    await_that(
        lambda: len(re.findall(r"saved, rank \d signal 10", slurm.output(job))) == 4,
        lambda: slurm.output(job),
    )
    slurm.await_state(job, r"JobState=PENDING Reason=BeginTime(?s:.*)Restarts=1")
    slurm.await_idle()
    check("another one takes its place" not in slurm.output(job), slurm.output(job))
    # Slurm lets two minutes pass before it starts a requeued job again.
    slurm.run("scontrol", "update", f"jobid={job}", "starttime=now")
    slurm.await_state(job, "JobState=COMPLETED")
    check(len(re.findall(r"goes on, rank \d", slurm.output(job))) == 4, slurm.output(job))
    return "a checkpoint at USR1, 75, requeued, goes on, 0"


SCENES = (
    one_task_a_node,
    one_task_a_device,
    a_rank_fails,
    a_restart,
    scancel,
    the_time_limit,
    the_time_limit_of_a_task_a_device,
)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    image = f"trainit-stack-{os.getpid()}"
    containers.docker("import", sys.argv[2], image)
    wrong = 0
    try:
        print(containers.docker("run", "--rm", image, "slurmd", "-V"), end="")
        with Slurm(image, os.path.abspath(sys.argv[1])) as slurm:
            slurm.await_idle()
            for scene in SCENES:
                try:
                    said = scene(slurm)
                except AssertionError as error:
                    wrong += 1
                    said = f"WRONG: {error}"
                print(f"slurm: {scene.__name__}: {said}", flush=True)
    finally:
        containers.docker("rmi", "--force", image, check=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
