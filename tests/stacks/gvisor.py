#!/usr/bin/python3
"""trainit on gVisor's kernel.

gvisor.py TRAINIT RUNSC

`runsc do` shows this machine's files, with what is written to them kept in memory: nothing here
changes. Prints a line for each scene; exits 1 when one is not as it should be.
"""

import os
import shlex
import subprocess
import sys

LIMIT = 180

# Its script, and what of its output has to be there; the script's last line is its exit code.
SCENES = (
    ("exit code", "$t -- sh -c 'exit 7'", ["exited with code 7"], 7),
    (
        "ranks",
        "$t --fan-out --slots 4 --output tee -- sh -c 'echo rank $RANK of $WORLD_SIZE'",
        [f"[rank {rank}] rank {rank} of 4" for rank in range(4)],
        0,
    ),
    (
        "a rank fails",
        """$t --fan-out --slots 4 -- python3 -c '
import os, time
if os.environ["RANK"] == "2": raise ValueError("planted")
time.sleep(1000)'""",
        ["the cause: ValueError: planted", "first failure: rank-2"],
        1,
    ),
    (
        "restart",
        "$t --max-restarts 1 --restart-delay 10ms -- sh -c "
        "'test -e once || { touch once; exit 3; }; echo again'",
        ["restart 1 of", "again"],
        0,
    ),
    (
        "stop",
        """mkfifo up
$t --grace 60s -- sh -c '
trap "echo has had TERM; exit 9" TERM; echo >up; while :; do sleep 0.1; done' &
read -r line <up; kill $!; wait $!""",
        ["has had TERM"],
        9,
    ),
    (
        "kill at the grace's end",
        """mkfifo up
$t --grace 1s -- sh -c 'trap "" TERM; echo >up; while :; do sleep 0.1; done' &
read -r line <up; kill $!; wait $!""",
        ["gets SIGKILL: main"],
        137,
    ),
    (
        "status",
        """mkfifo up go
$t --fan-out --slots 2 -- sh -c 'test $RANK = 0 || exit 0; echo >up; read -r line <go' &
read -r line <up; $t status; echo >go; wait $!""",
        ["state running", "rank-0 "],
        0,
    ),
    (
        "copy",
        "mkdir -p src/a; echo text >src/a/file; $t copy src dst; diff -r src dst && echo alike",
        ["alike"],
        0,
    ),
    (
        "data",
        "mkdir src; echo text >src/file; $t --data $PWD/src --data-root $PWD "
        "-- sh -c 'cat $TRAINIT_DATASET_SRC/file'",
        ["text"],
        0,
    ),
    ("doctor", "$t doctor", ["kernel     ok       gVisor", "0 failed"], 0),
    ("another user", "$t --user 65534 -- id -u", ["65534"], 0),
)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    binary, runsc = (os.path.abspath(name) for name in sys.argv[1:])
    print(
        subprocess.run(
            [runsc, "--version"], capture_output=True, text=True, check=True
        ).stdout.splitlines()[0]
    )
    wrong = 0
    for name, script, wanted, code in SCENES:
        whole = f"t={shlex.quote(binary)}\ncd $(mktemp -d)\n{script}\n"
        argv = [
            runsc,
            "--platform=systrap",
            "--network=none",
            "--ignore-cgroups",
            "do",
            "sh",
            "-c",
            whole,
        ]
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        missing = [text for text in wanted if text not in done.stdout]
        if done.returncode != code or missing:
            wrong += 1
            print(
                f"gvisor: {name}: WRONG: exit code {done.returncode}, "
                f"missing {missing}\n{done.stdout}",
                flush=True,
            )
        else:
            print(f"gvisor: {name}: as it should be", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
