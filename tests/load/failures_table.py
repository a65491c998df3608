#!/usr/bin/python3
"""Failures played by one rank among healthy ones, and what trainit says of them. Run by hand:

    tests/load/failures_table.py build/trainit [--ways single,fan-out,torchrun,mpirun,two-nodes]
        [--only TEXT] [--jobs N] [--rows]

Needs root (network namespaces), and for their ways torchrun and mpirun. Plays the kinds of KINDS,
which fail for real, and the logs of TRAINIT_SAMPLES/failures, which one rank prints before it ends
with 1; healthy ones too, where no line of theirs may be called a cause. A job of one node, without
torchrun, whose start takes long, is started again unless trainit says that this is useless. Prints
a row a failure (right or wrong, the cause line, class, verdict), and a table a way: the right line,
the right class, wrong "do not restart", healthy logs with a finding. Exits 1 below 90 % right lines, or with one of the last two.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile

RANKS = 3
CULPRIT = 1
COMPARED = 300  # bytes of a line

# What a rank does. The culprit is the last one on the second node, else rank 1.
PLAY = r'''
import ctypes, faulthandler, os, resource, signal, sys, time
rank = int(os.environ.get('RANK', os.environ.get('OMPI_COMM_WORLD_RANK', os.environ['CULPRIT'])))
kind, played, out = os.environ['KIND'], os.environ['PLAYED'], os.environ['STREAM']
stream = {'stdout': sys.stdout, 'stderr': sys.stderr}[out]

def say(text):
    stream.write(text)
    stream.flush()

def warn():
    for i in range(40):
        say('/lib/warnings.py:%d: UserWarning: this will be removed\n' % i)

class Rows:
    def __getitem__(self, i):
        return {'a': 1}['label']

def fail():
    if kind == 'log':
        stream.buffer.write(open(played, 'rb').read())
        stream.flush()
        sys.exit(1)
    if kind == 'import':
        import no_such_module_of_ours
    if kind == 'missing-script':
        os.execv(sys.executable, [sys.executable, '/nowhere/train.py'])
    if kind == 'syntax':
        open(played, 'w').write('def f(:\n')
        os.execv(sys.executable, [sys.executable, played])
    if kind == 'arguments':
        import argparse
        argparse.ArgumentParser(prog='train.py').parse_args(['--local-rank=0'])
    if kind == 'exception':
        try:
            Rows()[0]
        except KeyError as error:
            raise ValueError('row 7 has no label') from error
    if kind == 'cuda-oom':
        try:
            raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total)')
        finally:
            import atexit
            atexit.register(warn)
    if kind == 'segfault':
        faulthandler.enable(file=stream)
        ctypes.string_at(0)
    if kind == 'abort':
        say("terminate called after throwing an instance of 'std::runtime_error'\n  what():  shape (3) is not (4)\n")
        os.abort()
    if kind == 'sigkill':
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == 'sigbus':
        import mmap
        with open(played, 'wb+') as file:
            file.truncate(4096)
            memory = mmap.mmap(file.fileno(), 4096)
            file.truncate(0)
            memory[0] = 1
    if kind == 'memory':
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        bytearray(4 << 30)
    if kind == 'disk-full':
        with open('/dev/full', 'w') as file:
            file.write('x' * 100000)
    if kind == 'port':
        import socket
        taken = socket.socket()
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        socket.socket().bind(taken.getsockname())
    if kind == 'dns':
        import urllib.request
        urllib.request.urlopen('http://no-such-host.invalid/model', timeout=5)
    if kind == 'checkpoint':
        import pickle
        pickle.loads(b'\x00broken')

print('step 1 loss 2.5', flush=True)
if rank == int(os.environ['CULPRIT']):
    fail()
    sys.exit(1)
time.sleep(600)
'''

# kind: class ("": a launcher may guess one), the line, whether the same start fails again.
KINDS = {
    'import': (
        'python-import',
        "ModuleNotFoundError: No module named 'no_such_module_of_ours'",
        'no',
    ),
    'missing-script': ('script-error', "can't open file '/nowhere/train.py'", 'no'),
    'syntax': ('script-error', 'SyntaxError: invalid syntax', 'no'),
    'arguments': ('script-error', 'train.py: error: unrecognized arguments: --local-rank=0', 'no'),
    'exception': ('script-error', 'ValueError: row 7 has no label', 'unknown'),
    'cuda-oom': (
        'cuda-oom',
        'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB',
        'unknown',
    ),
    'segfault': ('segfault', 'Fatal Python error: Segmentation fault', 'unknown'),
    'abort': ('segfault', 'what(): shape (3) is not (4)', 'unknown'),
    'sigkill': ('', 'SIGKILL', 'unknown'),
    'sigbus': ('', 'SIGBUS', 'unknown'),
    'memory': ('host-oom', 'MemoryError', 'unknown'),
    'disk-full': ('data', 'OSError: [Errno 28] No space left on device', 'unknown'),
    'port': ('config', 'OSError: [Errno 98] Address already in use', 'yes'),
    'dns': ('data', 'Temporary failure in name resolution', 'yes'),
    'checkpoint': ('checkpoint', 'UnpicklingError: invalid load key', 'unknown'),
}

Case = collections.namedtuple('Case', 'name kind played failure_class line restart stream')
Told = collections.namedtuple('Told', 'failed line failure_class restart message ended said')


def squeezed(text):
    return ' '.join(text.split())


def cases(only):
    found = [Case(kind, kind, '', *row, 'stderr') for kind, row in KINDS.items()]
    samples = os.path.join(os.environ.get('TRAINIT_SAMPLES', ''), 'failures')
    if not os.path.isdir(samples):
        sys.exit('failures_table: TRAINIT_SAMPLES has to name the samples: found no ' + samples)
    with open(samples + '/labels.tsv', encoding='utf-8') as labels:
        for number, row in enumerate(labels.read().splitlines()[1:]):
            name, failure_class, _, line, restart = row.split('\t')[:5]
            found.append(
                Case(
                    name,
                    'log',
                    f'{samples}/{name}',
                    failure_class,
                    squeezed(line).encode()[:COMPARED].decode(errors='ignore'),
                    restart,
                    ('stdout', 'stderr')[number % 2],
                )
            )
    return [case for case in found if only in case.name]


def free_port():
    """Two in a row: node 0's link has the one after the master's."""
    while True:
        with socket.socket() as one, socket.socket() as next_one:
            one.bind(('', 0))
            try:
                next_one.bind(('', one.getsockname()[1] + 1))
            except (OSError, OverflowError):
                continue
            return str(one.getsockname()[1])


def commands(way, trainit, here):
    """For each node its argv and what it has in its environment."""
    play = ['/usr/bin/python3', here + '/play.py']
    once = [trainit, '--grace', '2s', '--max-duration', '3m']
    again = once + ['--max-restarts', '2']
    if way == 'single':
        return [(again + ['--', *play], {'CULPRIT': '0'})]
    if way == 'fan-out':
        return [
            (
                again
                + ['--fan-out', '--slots', str(RANKS), '--master-port', free_port(), '--', *play],
                {},
            )
        ]
    if way == 'torchrun':
        return [
            (
                once
                + [
                    '--output',
                    'tee',
                    '--',
                    'torchrun',
                    '--nproc_per_node',
                    str(RANKS),
                    '--master_port',
                    free_port(),
                    here + '/play.py',
                ],
                {'PET_REDIRECTS': '1', 'PET_TEE': '1'},
            )
        ]
    if way == 'mpirun':
        return [
            (
                again
                + [
                    '--',
                    'mpirun',
                    '--allow-run-as-root',
                    '--oversubscribe',
                    '-n',
                    str(RANKS),
                    *play,
                ],
                {},
            )
        ]
    port = free_port()
    # Of two nodes the one is asked that has no failure of its own.
    return [
        (
            once
            + [
                '--platform=bare',
                '--fan-out',
                '--slots',
                '2',
                '--nodes',
                '2',
                '--node-rank',
                str(node),
                '--hosts',
                '127.0.0.1,127.0.0.2',
                '--master-port',
                port,
                '--output',
                'tee',
                '--',
                *play,
            ],
            {'CULPRIT': '3'},
        )
        for node in (0, 1)
    ]


def play(trainit, way, case):
    here = tempfile.mkdtemp(prefix='failures-')
    try:
        with open(here + '/play.py', 'w') as file:
            file.write(PLAY)
        jobs = []
        for node, (argv, more) in enumerate(commands(way, trainit, here)):
            environment = {
                **os.environ,
                'KIND': case.kind,
                'PLAYED': case.played or here + '/played',
                'STREAM': case.stream,
                'CULPRIT': str(CULPRIT),
                'TMPDIR': here,
                'TRAINIT_RUN_DIR': f'{here}/run{node}',
                'TRAINIT_LOG_DIR': f'{here}/logs{node}',
                **more,
            }
            jobs.append(
                subprocess.Popen(
                    argv,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    cwd=here,
                )
            )
        said = [job.communicate()[0].decode(errors='replace') for job in jobs]
        with open(here + '/run0/state.json', encoding='utf-8') as file:
            state = json.load(file)
        detail = state['first_failure_detail'] or {}
        cause = detail.get('cause') or {}
        ended = [
            line.split('no restart: ')[1].split(' (--')[0]
            for line in said[0].splitlines()
            if 'no restart: ' in line
        ]
        return Told(
            bool(detail),
            squeezed(cause.get('line', '')),
            cause.get('class', ''),
            cause.get('restart', ''),
            state['first_failure'] or '',
            ended[0] if ended else '',
            '\n'.join(said),
        )
    finally:
        shutil.rmtree(here, ignore_errors=True)


def judge(case, told):
    """What of the case was right: line, class, verdict."""
    if case.line == '-':
        with open(case.played, encoding='utf-8', errors='replace') as file:
            finding = told.line and told.line in squeezed(file.read())
        return {'healthy': True, 'finding': bool(finding), 'wrong_no': False}
    shown = told.line + ' ' + (told.message if case.kind != 'log' else '')
    useless = told.restart == 'no' or 'does not go away' in told.ended
    return {
        'healthy': False,
        'line': case.line in shown,
        'class': case.failure_class in ('', told.failure_class),
        'wrong_no': (useless and case.restart != 'no')
        or (bool(told.ended) and case.restart == 'yes'),
    }


def show(way, case, told, result):
    right = 'healthy' if result['healthy'] else 'right' if result['line'] else 'WRONG'
    if result.get('finding') or result['wrong_no']:
        right = 'FINDING' if result['healthy'] else 'NO'
    verdict = told.ended or told.restart or '-'
    print(
        f'{way:9} {right:7} {case.name[:44]:44} {told.failure_class or "-":14} {verdict[:24]:24} '
        f'{told.line[:100] or told.message[:100]}',
        flush=True,
    )


def summary(way, results):
    failures = [one for one in results if not one['healthy']]
    healthy = [one for one in results if one['healthy']]
    line, right_class = sum(one['line'] for one in failures), sum(one['class'] for one in failures)
    wrong_no, findings = sum(one['wrong_no'] for one in failures), sum(
        one['finding'] for one in healthy
    )
    share = 100 * line / max(len(failures), 1)
    print(
        f'{way:10} {line:4} of {len(failures):3} ({share:.0f} %) {right_class:12} {wrong_no:16} '
        f'{findings:10} of {len(healthy)}'
    )
    return share >= 90 and wrong_no == 0 and findings == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainit')
    parser.add_argument('--ways', default='single,fan-out,torchrun,mpirun,two-nodes')
    parser.add_argument('--only', default='', help='cases whose name has this text')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument(
        '--rows', action='store_true', help='all rows, not only those that are wrong'
    )
    options = parser.parse_args()
    # Ports and addresses of its own.
    if os.environ.get('FAILURES_INSIDE') != '1':
        os.environ['FAILURES_INSIDE'] = '1'
        os.execvp(
            'unshare',
            ['unshare', '-n', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', sys.executable]
            + sys.argv,
        )
    trainit = os.path.abspath(options.trainit)
    table = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for way in options.ways.split(','):
            table[way] = []
            every = cases(options.only)
            for case, told in zip(every, pool.map(lambda case: play(trainit, way, case), every)):
                result = judge(case, told)
                table[way].append(result)
                if (
                    options.rows
                    or result['wrong_no']
                    or result.get('finding')
                    or not result.get('line', True)
                ):
                    show(way, case, told, result)
    print('\nway        right line       right class  wrong "no restart"  findings in healthy logs')
    good = [summary(way, results) for way, results in table.items()]
    return 0 if all(good) else 1


if __name__ == '__main__':
    sys.exit(main())
