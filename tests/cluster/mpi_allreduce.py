"""An allreduce over MPI, as a training process does it once a step.

mpi_allreduce.py [--fail-on-rank K --code C] [--until-stopped]

mpi4py where it speaks the MPI that started this process; Debian has it for Open MPI only, so under
MPICH's launcher the same calls go to libmpich by ctypes.
"""

import argparse
import os
import signal
import socket
import sys
import threading

FINALIZE_SECONDS = 5


class Mpich:
    """The calls needed here. The handles are those of MPICH's ABI (mpi.h)."""

    WORLD = 0x44000000
    INT = 0x4C000405
    SUM = 0x58000003
    name = "MPICH"

    def __init__(self):
        import ctypes

        self.ctypes = ctypes
        self.library = ctypes.CDLL("libmpich.so.12")
        self.library.MPI_Init(None, None)
        self.rank = self._number(self.library.MPI_Comm_rank)
        self.size = self._number(self.library.MPI_Comm_size)

    def _number(self, function):
        value = self.ctypes.c_int()
        function(self.WORLD, self.ctypes.byref(value))
        return value.value

    def sum(self, number):
        mine, total = self.ctypes.c_int(number), self.ctypes.c_int()
        self.library.MPI_Allreduce(
            self.ctypes.byref(mine), self.ctypes.byref(total), 1, self.INT, self.SUM, self.WORLD
        )
        return total.value

    def abort(self, code):
        self.library.MPI_Abort(self.WORLD, code)

    def finalize(self):
        # MPI_Finalize of Debian's MPICH 4.0 on UCX at times waits for ever: one rank for the other
        # end of a connection, which is in PMI's barrier already. Hydra takes an exit for an end.
        bound = threading.Timer(FINALIZE_SECONDS, os._exit, (0,))
        bound.daemon = True
        bound.start()
        self.library.MPI_Barrier(self.WORLD)
        self.library.MPI_Finalize()
        bound.cancel()


class Mpi4py:
    def __init__(self):
        from mpi4py import MPI

        self.mpi = MPI
        self.rank = MPI.COMM_WORLD.Get_rank()
        self.size = MPI.COMM_WORLD.Get_size()
        self.name = "mpi4py on " + MPI.Get_library_version().split(",")[0]

    def sum(self, number):
        return self.mpi.COMM_WORLD.allreduce(number)

    def abort(self, code):
        self.mpi.COMM_WORLD.Abort(code)

    def finalize(self):
        self.mpi.Finalize()


def say(text):
    # One write, so that lines of several ranks do not mix.
    os.write(sys.stdout.fileno(), (text + "\n").encode())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fail-on-rank", type=int, default=-1)
    parser.add_argument("--code", type=int, default=3)
    parser.add_argument("--abort", action="store_true")
    parser.add_argument("--until-stopped", action="store_true")
    asked = parser.parse_args()

    # PMI_RANK is Hydra's.
    mpi = Mpich() if "PMI_RANK" in os.environ else Mpi4py()
    total = mpi.sum(mpi.rank + 1)
    say(
        f"rank {mpi.rank} of {mpi.size} on {socket.gethostname()} uid={os.getuid()} "
        f"mark={os.environ.get('TEST_MARK', '')}: sum {total} by {mpi.name}"
    )
    if asked.fail_on_rank == mpi.rank:
        if asked.abort:
            mpi.abort(asked.code)
        os._exit(asked.code)
    if asked.fail_on_rank >= 0:
        mpi.sum(0)  # the others wait for it as a training step would
    while asked.until_stopped:
        signal.pause()
    mpi.finalize()


main()
