"""An allreduce over gloo with what the launcher put into the environment.

torch_allreduce.py [--fail-on-rank K --code C] [--until-stopped] [--local-rank N]
"""

import argparse
import os
import signal
import socket
import sys

import torch
import torch.distributed as dist


def say(text):
    # One write, so that lines of several ranks do not mix.
    os.write(sys.stdout.fileno(), (text + "\n").encode())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fail-on-rank", type=int, default=-1)
    parser.add_argument("--code", type=int, default=3)
    parser.add_argument("--until-stopped", action="store_true")
    # torch.distributed.launch appends it.
    parser.add_argument("--local-rank", "--local_rank", type=int, default=-1)
    asked = parser.parse_args()

    dist.init_process_group("gloo")
    total = torch.tensor([dist.get_rank() + 1])
    dist.all_reduce(total)
    say(
        f"rank {dist.get_rank()} of {dist.get_world_size()} on {socket.gethostname()} "
        f"local={os.environ.get('LOCAL_RANK')} uid={os.getuid()} "
        f"session={os.getsid(0) == os.getpid()}: sum {total.item()} by gloo"
    )
    if asked.fail_on_rank == dist.get_rank():
        os._exit(asked.code)
    if asked.fail_on_rank >= 0:
        dist.all_reduce(total)  # the others wait for it as a training step would
    while asked.until_stopped:
        signal.pause()
    dist.barrier()
    # Its threads must not outlive the interpreter: gloo aborts then.
    dist.destroy_process_group()


main()
