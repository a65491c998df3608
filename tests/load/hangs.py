#!/usr/bin/python3
"""Hangs of a real torch.distributed (gloo) job, and whom trainit names for them. Run by hand:

    python3 tests/load/hangs.py build/trainit [--seed N] [--runs N] [--only KIND,KIND]

Needs root (FUSE), python3-torch, /dev/fuse. Each run is a job of 2 to 4 ranks of which one hangs;
the verdict in RUN_DIR/stacks/stall.json is compared with what was planted. Prints a line a run, and
a table: right (rank and line), unknown, wrong. Exits 1 below 95 % right, or with a wrong name.
"""

import argparse
import collections
import ctypes
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading

JOB = r'''
import ctypes, os, re, signal, sys, threading, time
kind, culprit, here = os.environ['KIND'], int(os.environ['CULPRIT']), os.environ['HERE']
import torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group('gloo')
rank = dist.get_rank()
others = dist.new_group(list(range(dist.get_world_size())))

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 1000000
    def __getitem__(self, i):
        if rank == culprit and i == 40:
            time.sleep(100000)  # PLACE loader
        return torch.ones(8)

def step(x):
    dist.all_reduce(x)

def hang():
    if kind == 'sleep':
        time.sleep(100000)  # PLACE sleep
    n = 0
    while kind == 'spin': n += 1  # PLACE spin
    if kind == 'gil':
        re.match(r'(a+)+$', 'a' * 60 + 'b')  # PLACE gil
    if kind == 'gil-mutex':
        mutex, libc = ctypes.create_string_buffer(64), ctypes.PyDLL(None)
        libc.pthread_mutex_lock(mutex)
        libc.pthread_mutex_lock(mutex)  # PLACE gil-mutex
    if kind == 'power':
        pow(3, 10 ** 9)  # PLACE power
    if kind == 'fuse':
        open(here + '/fuse/file', 'rb').read()  # PLACE fuse
    if kind == 'fifo':
        open(here + '/fifo').read()  # PLACE fifo
    if kind == 'lock':
        import fcntl
        fcntl.flock(os.open(here + '/lock', os.O_RDWR), fcntl.LOCK_EX)  # PLACE lock
    if kind == 'child':
        import subprocess
        subprocess.run(['sleep', '100000'])  # PLACE child
    if kind == 'order':
        dist.all_reduce(torch.ones(8), group=others)  # PLACE order
    if kind == 'stop':
        os.kill(os.getpid(), signal.SIGSTOP)

def main():
    data = torch.utils.data.DataLoader(Data(), batch_size=1, num_workers=2) if kind == 'loader' else None
    loader = iter(data) if data is not None else None
    model = torch.nn.Linear(8, 8)
    if kind == 'ddp':
        model = torch.nn.parallel.DistributedDataParallel(model)
    for i in range(1000000):
        x = next(loader) if loader else torch.ones(8)
        if i == 20 and rank == culprit:
            if kind == 'exit':
                threading.Thread(target=time.sleep, args=(100000,)).start()
                return
            if kind == 'left':
                break
            if kind == 'ddp':
                time.sleep(100000)  # PLACE ddp
            hang()
        if kind == 'ddp':
            model(torch.ones(1, 8)).sum().backward()
        else:
            step(x)
    time.sleep(100000)  # PLACE left

main()
'''

KINDS = ['sleep', 'spin', 'gil', 'gil-mutex', 'power', 'loader', 'stop', 'fuse', 'fifo', 'lock', 'child',
         'left', 'exit', 'order', 'ddp']


class Fuse(threading.Thread):
    """A file system with one file, whose reads are never answered."""

    def __init__(self, place):
        super().__init__(daemon=True)
        self.fd = os.open('/dev/fuse', os.O_RDWR)
        options = f'fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other'
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b'hang', place.encode(), b'fuse.hang', 0, options.encode()) != 0:
            raise OSError(ctypes.get_errno(), 'mounting FUSE')
        self.start()

    def answer(self, unique, payload=b'', error=0):
        os.write(self.fd, struct.pack('<IiQ', 16 + len(payload), -error, unique) + payload)

    @staticmethod
    def attributes(node):
        mode = 0o40755 if node == 1 else 0o100644
        return struct.pack('<QQQQQQIIIIIIIIII', node, 4096, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def run(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 20)
            except OSError:
                return
            _, opcode, unique, node = struct.unpack_from('<IIQQ', request)
            if opcode == 26:  # INIT
                self.answer(unique, struct.pack('<IIIIHHIIHHI', 7, 31, 0, 0, 12, 10, 1 << 17, 1, 0, 0, 0)
                            + b'\0' * 28)
            elif opcode == 1:  # LOOKUP
                self.answer(unique, struct.pack('<QQQQII', 2, 0, 1, 1, 0, 0) + self.attributes(2))
            elif opcode == 3:  # GETATTR
                self.answer(unique, struct.pack('<QII', 1, 0, 0) + self.attributes(node))
            elif opcode in (14, 27):  # OPEN, OPENDIR
                self.answer(unique, struct.pack('<QII', 1, 1, 0))
            elif opcode in (15, 36, 2, 42):  # READ and INTERRUPT: never; FORGET has no answer
                continue
            elif opcode in (18, 25, 29):  # FLUSH and RELEASE
                self.answer(unique)
            else:
                self.answer(unique, error=38)


def line_of(kind):
    for number, line in enumerate(JOB.splitlines(), 1):
        if line.endswith('# PLACE ' + kind):
            return f'job.py:{number}'
    return {'stop': '', 'exit': '_shutdown'}[kind]


def free_port():
    with socket.socket() as one:
        one.bind(('', 0))
        return one.getsockname()[1]


def verdict_of(run_dir):
    try:
        with open(run_dir + '/stacks/stall.json') as file:
            return json.load(file)
    except OSError:
        return None


def judge(kind, culprit, verdict):
    """right, line (the rank alone), unknown, wrong, none; and what was said."""
    if verdict is None:
        return 'none', 'no stacks were taken'
    suspects = verdict['suspects']
    if not suspects:
        return 'unknown', verdict['verdict']
    if suspects != [f'rank-{culprit}']:
        return 'wrong', verdict['verdict']
    group = next(one for one in verdict['groups'] if one['ranks'] == suspects)
    place = line_of(kind)
    if place and not (group['place'] + ' ').startswith(place + ' ') and place not in ('_shutdown',):
        return 'line', verdict['verdict']
    if place == '_shutdown' and 'exit' not in group['does']:
        return 'line', verdict['verdict']
    return 'right', verdict['verdict']


def run(trainit, kind, ranks, culprit, stall):
    here = tempfile.mkdtemp(prefix='hangs-')
    fuse = None
    try:
        with open(here + '/job.py', 'w') as file:
            file.write(JOB)
        os.mkfifo(here + '/fifo')
        lock = os.open(here + '/lock', os.O_RDWR | os.O_CREAT)
        import fcntl
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.mkdir(here + '/fuse')
        if kind == 'fuse':
            fuse = Fuse(here + '/fuse')
        environment = {**os.environ, 'KIND': kind, 'CULPRIT': str(culprit), 'HERE': here,
                       'TRAINIT_RUN_DIR': here + '/run', 'OMP_NUM_THREADS': '1'}
        command = [trainit, '--fan-out', '--slots', str(ranks), '--stall-timeout', stall,
                   '--master-port', str(free_port()), '--stall-action', 'end', '--grace', '2s', '--max-duration', '5m', '--',
                   '/usr/bin/python3', here + '/job.py']
        job = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
        if fuse:
            # KILL of a rank that reads there is answered only when the mount goes.
            def give_up():
                while job.poll() is None and verdict_of(here + '/run') is None:
                    try:
                        job.wait(0.5)
                    except subprocess.TimeoutExpired:
                        pass
                ctypes.CDLL(None).umount2((here + '/fuse').encode(), 1)
                os.close(fuse.fd)
            threading.Thread(target=give_up, daemon=True).start()
        output = job.communicate()[0].decode(errors='replace')
        result, said = judge(kind, culprit, verdict_of(here + '/run'))
        if job.returncode != 70 or result != 'right':
            said += f' (exit code {job.returncode})'
        if result == 'none':
            said += '\n' + output[-3000:]
        os.close(lock)
        return result, said
    finally:
        ctypes.CDLL(None).umount2((here + '/fuse').encode(), 2)
        shutil.rmtree(here, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainit')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--runs', type=int, default=200)
    parser.add_argument('--only', default='')
    parser.add_argument('--stall', default='5s', help='generous: an import of torch takes seconds')
    options = parser.parse_args()
    # Mounts stay in a namespace of their own.
    if os.environ.get('HANGS_INSIDE') != '1':
        os.environ['HANGS_INSIDE'] = '1'
        os.execvp('unshare', ['unshare', '-m', sys.executable] + sys.argv)
    kinds = options.only.split(',') if options.only else KINDS
    table = collections.defaultdict(collections.Counter)
    for number in range(options.runs):
        chance = random.Random(options.seed * 1000003 + number)
        kind = kinds[number % len(kinds)]
        ranks = chance.choice([3, 4] if kind == 'order' else [2, 3, 4])
        culprit = chance.randrange(ranks)
        result, said = run(os.path.abspath(options.trainit), kind, ranks, culprit, options.stall)
        table[kind][result] += 1
        print(f'{number:3} {kind:9} {ranks} ranks, {culprit}: {result:7} {said}', flush=True)
    total = sum(table.values(), collections.Counter())
    print('\nkind       right  rank only  unknown  wrong  none')
    for kind, counts in [*table.items(), ('all', total)]:
        print(f'{kind:10} {counts["right"]:5} {counts["line"]:10} {counts["unknown"]:8} '
              f'{counts["wrong"]:6} {counts["none"]:5}')
    share = total['right'] / max(sum(total.values()), 1)
    return 0 if share >= 0.95 and total['wrong'] == 0 else 1


if __name__ == '__main__':
    sys.exit(main())
