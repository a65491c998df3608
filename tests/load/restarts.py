#!/usr/bin/python3
"""Restarts of a real torch.distributed (gloo) training that is killed at any instant: does a warm
restart change what comes out? Run by hand:

    python3 tests/load/restarts.py build/trainit [--seed N] [--jobs N] [--restarts N] [--within S]

Needs python3-torch. Jobs of two ranks are killed by a timer of one of them, at an instant of the
seed: while it imports, meets, steps or saves, and while the next ranks stand by or are made. The
weights of each at the end are compared, bit for bit, with those of a job that nobody killed and
whose starts were cold. Prints how the starts were, and what a warm and a cold one differ in; exits
1 where a bit, a descriptor, or a process that is left over does. Before that, one job of a small
program is restarted --watched times: what trainit itself holds by then must not have grown.
"""

import argparse
import collections
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

JOB = r'''
import os, random, signal, sys, time
start, here = int(os.environ['TRAINIT_RESTART_COUNT']), os.environ['HERE']
rank, last = int(os.environ['RANK']), int(os.environ['LAST'])
chance = random.Random(int(os.environ['SEED']) * 1000003 + start)
culprit, after = chance.randrange(2), chance.uniform(0.001, float(os.environ['WITHIN']))
if start < last and rank == culprit:
    signal.setitimer(signal.ITIMER_REAL, after)  # nobody catches it
import torch, torch.distributed as dist
import hashlib, json
torch.set_num_threads(1)
dist.init_process_group('gloo')
path = here + '/saved.pt'
state = torch.load(path) if os.path.exists(path) else {
    'step': 0, 'weights': torch.zeros(4096, dtype=torch.float64)}
with open(here + '/starts-%d' % rank, 'a') as file:
    fds = sorted(os.readlink('/proc/self/fd/' + fd).split(':')[0] for fd in ('0', '1', '2'))
    print(json.dumps([start, fds, len(os.sched_getaffinity(0)), os.getcwd(), sys.argv]), file=file)
until = int(os.environ['STEPS'])
first = state['step']
while state['step'] < until if until else start < last or state['step'] < first + 5:
    torch.manual_seed(state['step'] * 2 + rank)
    change = torch.randn(4096, dtype=torch.float64)
    dist.all_reduce(change)
    state['weights'] = 0.9 * state['weights'] + 0.1 * torch.tanh(change * state['weights'].cos())
    state['step'] += 1
    if until:
        continue
    dist.barrier()
    if rank == 0:
        torch.save(state, path + '.new')
        os.rename(path + '.new', path)
    dist.barrier()
    time.sleep(0.02)
if rank == 0:
    with open(here + '/result', 'w') as file:
        digest = hashlib.sha256(state['weights'].numpy().tobytes()).hexdigest()
        json.dump({'step': state['step'], 'weights': digest}, file)
'''


# Restarts as often as it can, and looks at trainit each time when the next rank stands by.
WATCHED_JOB = r'''
import json, os, re, sys, time
here = os.environ['HERE']
if os.environ['TRAINIT_RESTART_COUNT'] == os.environ['LAST']:
    sys.exit()
while True:
    ready = re.search('"warm": "ready: pid ([0-9]+)', open(here + '/run/state.json').read())
    if ready and int(ready[1]) != os.getpid():  # which was ready
        break
    time.sleep(0.002)
proc = '/proc/%d/' % os.getppid()
with open(proc + 'status') as file:
    kib = int(re.search('RssAnon:[^0-9]*([0-9]+)', file.read())[1])
with open(here + '/seen', 'a') as file:
    print(json.dumps([len(os.listdir(proc + 'fd')), kib]), file=file)
os._exit(7)
'''
WARM_UP = 20  # restarts until buffers have their size
MOST_GROWTH_KIB = 256


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def log_of(command, environment, here, result):
    """What it printed. It has to end well, and to leave that file."""
    with open(here + '/log', 'w') as log:
        code = subprocess.run(command, env=environment, cwd=here, stdout=log,
                              stderr=subprocess.STDOUT, check=False).returncode
    with open(here + '/log') as log:
        text = log.read()
    if code != 0 or not os.path.exists(os.path.join(here, result)):
        sys.exit(f'{here}: exit code {code}; the end of its log:\n{text[-3000:]}')
    return text


def run(trainit, here, options, seed, last, steps):
    """Its result, and its log. With `steps` it is the one that nobody kills."""
    os.mkdir(here)
    with open(here + '/job.py', 'w') as file:
        file.write(JOB)
    environment = {**os.environ, 'HERE': here, 'TRAINIT_RUN_DIR': here + '/run', 'LAST': str(last),
                   'SEED': str(seed), 'WITHIN': str(options.within), 'STEPS': str(steps),
                   'OMP_NUM_THREADS': '1'}
    command = [trainit, '--fan-out', '--slots', '2', '--max-restarts', str(last + 10),
               '--restart-delay', '0', '--restart-verdict', 'tell', '--grace', '5s',
               '--master-port', str(free_port()), *([] if steps else ['--warm', 'torch']), '--',
               '/usr/bin/python3', here + '/job.py']
    text = log_of(command, environment, here, 'result')
    with open(here + '/result') as file:
        return json.load(file), text


def left_over(here):
    mark = b'HERE=' + here.encode() + b'\0'
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as file:
                if mark in file.read():
                    found.append(pid)
        except OSError:
            continue
    return found


def watch(trainit, here, restarts):
    """One job with so many restarts: whether trainit has more descriptors or memory at the end."""
    os.mkdir(here)
    with open(here + '/job.py', 'w') as file:
        file.write(WATCHED_JOB)
    environment = {**os.environ, 'HERE': here, 'TRAINIT_RUN_DIR': here + '/run',
                   'LAST': str(restarts)}
    command = [trainit, '--max-restarts', str(restarts), '--restart-delay', '0',
               '--restart-reset', '1ms',  # each comes at once, as the first does
               '--restart-verdict', 'tell', '--warm', 'json', '--',
               '/usr/bin/python3', here + '/job.py']
    text = log_of(command, environment, here, 'seen')
    with open(here + '/seen') as file:
        seen = [json.loads(line) for line in file]
    fds, kib = zip(*seen[WARM_UP:])
    print(f'one job, {len(seen)} restarts, {starts_of(text)["warm"]} of them warm: trainit had '
          f'{min(fds)} to {max(fds)} descriptors, and {kib[0]} KiB of memory behind {WARM_UP} '
          f'restarts, {kib[-1]} at the end', flush=True)
    # Some are open for an instant.
    return min(fds[-WARM_UP:]) <= min(fds[:WARM_UP]) and kib[-1] - kib[0] <= MOST_GROWTH_KIB


def starts_of(text):
    counts = collections.Counter()
    for line in text.splitlines():
        kind, found, names = line.partition('restart, ')[2].partition(': ')
        if not found or kind not in ('warm', 'cold'):
            continue
        ranks, _, reason = names.partition(': ')
        counts[kind + (': ' + reason if reason else '')] += len(ranks.split(', '))
    return counts


def looks_of(here):
    """How each start of each rank looked to it."""
    looks = set()
    for rank in (0, 1):
        with open(f'{here}/starts-{rank}') as file:
            for line in file:
                looks.add(f'rank {rank}: {json.loads(line.replace(here, "HERE"))[1:]}')
    return looks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainit')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--jobs', type=int, default=40)
    parser.add_argument('--restarts', type=int, default=5, help='of a job')
    parser.add_argument('--watched', type=int, default=200, help='restarts of a job of its own')
    parser.add_argument('--within', type=float, default=6.0, help='seconds from a start to its end')
    options = parser.parse_args()
    trainit = os.path.abspath(options.trainit)
    folder = tempfile.mkdtemp(prefix='restarts-')
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    starts, looks, wrong = collections.Counter(), set(), []
    try:
        if options.watched > WARM_UP and not watch(trainit, folder + '/watched', options.watched):
            wrong.append('trainit grows')
        for job in range(options.jobs):
            here, seed = f'{folder}/{job}', options.seed * 1000 + job
            warm, text = run(trainit, here, options, seed, options.restarts, 0)
            looks |= looks_of(here)
            starts += starts_of(text)
            left = left_over(here)
            cold, _ = run(trainit, here + '-cold', options, seed, 0, warm['step'])
            looks |= looks_of(here + '-cold')
            if warm != cold or left:
                wrong.append(f'seed {seed}: {warm}, cold {cold}, left over: {left}')
            result = 'equal' if warm == cold and not left else wrong[-1]
            print(f'job {job}: {warm["step"]} steps, {result}', flush=True)
            shutil.rmtree(here)
            shutil.rmtree(here + '-cold')
        print(f'{options.jobs} jobs of {options.restarts} restarts; ranks that started again:')
        for how, count in starts.most_common():
            print(f'{count:5} {how}')
        found = '; '.join(wrong) or 'none'
        print('weights that differ, processes that are left, growth: ' + found)
        print('starts that look different: ' + (str(sorted(looks)) if len(looks) > 2 else 'none'))
        as_cold = not options.jobs or (starts['warm'] > 0 and len(looks) == 2)
        return 0 if as_cold and not wrong else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
