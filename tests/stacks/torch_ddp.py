"""One training step of DistributedDataParallel over gloo, whose gradients are checked.

torch_ddp.py [--fail-on-rank K [--once FILE]] [--until-stopped]

Rank r computes with r + 1, so that the mean over all ranks tells whether each took part once.
"""

import argparse
import os
import signal
import socket
import sys

import torch
import torch.distributed as dist


def gradient():
    """Of a linear layer's only weight, averaged over the ranks by DDP."""
    layer = torch.nn.Linear(1, 1, bias=False)
    model = torch.nn.parallel.DistributedDataParallel(layer)
    model(torch.full((1, 1), float(dist.get_rank() + 1))).sum().backward()
    return layer.weight.grad.item()


def fails(asked):
    """With --once it fails while FILE is not there, and makes it."""
    if asked.fail_on_rank != dist.get_rank():
        return False
    if asked.once is None:
        return True
    try:
        os.close(os.open(asked.once, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fail-on-rank", type=int, default=-1)
    parser.add_argument("--once")
    parser.add_argument("--until-stopped", action="store_true")
    asked = parser.parse_args()

    dist.init_process_group("gloo")
    size = dist.get_world_size()
    found, wanted = gradient(), (size + 1) / 2
    assert found == wanted, f"the gradient is {found}, not {wanted}"
    # One write, so that lines of several ranks do not mix.
    line = f"rank {dist.get_rank()} of {size} on {socket.gethostname()}: gradient {found}\n"
    os.write(sys.stdout.fileno(), line.encode())
    if fails(asked):
        raise RuntimeError("planted by torch_ddp.py")
    if asked.fail_on_rank >= 0:
        dist.barrier()  # waits for the one that fails, as a training step would
    while asked.until_stopped:
        signal.pause()
    dist.barrier()
    dist.destroy_process_group()


main()
