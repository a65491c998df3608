#!/usr/bin/python3
"""A training script that fails: failing.py HOW [RANK]. The rank, or each one, fails; others wait.

  import     a module is not there
  exception  of its own
  memory     takes more than the container may have
  shm        writes more into /dev/shm than fits
"""

import os
import socket
import sys
import time


def fail(how):
    if how == 'import':
        import no_such_module  # noqa: F401
    if how == 'exception':
        raise ValueError('shard 7 is empty')
    if how == 'memory':
        taken = []
        while True:
            taken.append(bytearray(16 << 20))
    if how == 'shm':
        import mmap
        with open('/dev/shm/batch', 'wb+') as file:
            file.truncate(1 << 30)
            memory = mmap.mmap(file.fileno(), 1 << 30)
            for page in range(0, 1 << 30, mmap.PAGESIZE):
                memory[page] = 1


def meet(culprit):
    """No rank fails before the first node runs."""
    if os.environ['RANK'] == '0':
        with socket.create_server(('', int(os.environ['MASTER_PORT']))) as server:
            server.accept()
    while os.environ['RANK'] == culprit:
        try:
            socket.create_connection((os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))).close()
            return
        except OSError:
            time.sleep(0.1)


print('step 1 loss 2.5', flush=True)
if len(sys.argv) == 3:
    meet(sys.argv[2])
if len(sys.argv) < 3 or os.environ['RANK'] == sys.argv[2]:
    fail(sys.argv[1])
time.sleep(600)
