#!/usr/bin/python3
"""tini's own test programs: tini_suite.py CACHE PROGRAM

PROGRAM stands in for tini. run_inner_tests.py runs as it is. run_outer_tests.py is Python 2 for
Docker, and its smoke tests are a shell script that builds tini: what they expect is said here
again, with a pid namespace instead of a container. Left out: the license's text, which is tini's
own, valgrind on tini's binary, hardening flags and packages.
"""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'modules'))
sys.dont_write_bytecode = True

import psutil  # noqa: E402
import suite  # noqa: E402

LIMIT_S = 300  # of a hang, not of a slow machine
FAILED = []


def expect(name, condition, detail=''):
    print(('ok      ' if condition else 'FAILED  ') + name + ('' if condition else f': {detail}'),
          flush=True)
    if not condition:
        FAILED.append(name)


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False,
                          **options)


def expect_code(name, command, code, **options):
    result = run(command, **options)
    expect(name, result.returncode == code, f'{result.returncode}, not {code}: {result.stderr}')


def smoke_tests(tini):
    expect_code('--version ends with 0', [tini, '--version'], 0)
    expect('--version says tini version', 'tini version' in run([tini, '--version']).stdout)
    expect_code('without arguments: 1', [tini], 1)
    expect('without arguments: help', 'supervision of a valid init process' in run([tini]).stderr)
    expect('help names the options', 'more verbose' in run([tini]).stderr)
    expect_code('-h', [tini, '-h'], 0)
    expect_code('-l', [tini, '-l'], 0)
    expect_code('-vvv true', [tini, '-vvv', 'true'], 0)
    expect_code('-vvv false', [tini, '-vvv', 'false'], 1)
    expect_code('-vvv -- true', [tini, '-vvv', '--', 'true'], 0)
    expect_code('-vvv -- -- true', [tini, '-vvv', '--', '--', 'true'], 127)
    verbose = run([tini, 'true'], env=dict(os.environ, TINI_VERBOSITY='3'))
    expect('TINI_VERBOSITY', 'Received SIGCHLD' in verbose.stdout + verbose.stderr)
    expect_code('127 when the command does not exist', [tini, 'foobar123'], 127)
    expect_code('126 when it is not executable', [tini, '/etc'], 126)
    expect_code('hands pipes over', [tini, 'sh'], 0, input='exit 0\n')


def inner_tests(source, build, environment):
    code = suite.run_as_reaper([sys.executable, os.path.join(source, 'test/run_inner_tests.py')],
                               env=environment)
    expect('run_inner_tests.py', code == 0, f'it ended with {code}')


def as_pid1(command):
    return ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', *command]


@contextlib.contextmanager
def pid1(command, environment):
    """(the process that waits for PID 1, PID 1)"""
    waiter = subprocess.Popen(as_pid1(command), env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    try:
        while not psutil.Process(waiter.pid).children():
            os.sched_yield()
        yield waiter, psutil.Process(waiter.pid).children()[0]
    finally:
        waiter.kill()
        waiter.communicate()


def outer_tests(tini, source, environment):
    if os.geteuid() != 0:
        print('SKIPPED as PID 1: only root can make a pid namespace')
        return
    options = {'env': dict(environment, TINI_VERBOSITY='3')}
    reaping = os.path.join(source, 'test/reaping/stage_1.py')
    expect_code('PID 1: reaping', as_pid1([tini, reaping]), 0, **options)
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
        command = [tini, os.path.join(source, 'test/signals/test.py')]
        with pid1(command, options['env']) as (waiter, init):
            # test.py resets its signals before it starts a shell with a sleep.
            while len(init.children(recursive=True)) < 2:
                os.sched_yield()
            os.kill(init.pid, number)
            waiter.communicate(timeout=LIMIT_S)
            expect(f'PID 1: {number.name}', waiter.returncode == 128 + number, waiter.returncode)
    expect_code('PID 1: -z', as_pid1([tini, '-z']), 1, **options)
    expect_code('PID 1: -h', as_pid1([tini, '-h']), 0, **options)
    expect_code('PID 1: zzzz', as_pid1([tini, 'zzzz']), 127, **options)


def type_on_terminal(command, environment, await_text, typed):
    """Its exit code, typed at when the text is there."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, environment)
    output = b''
    with contextlib.suppress(OSError):  # EIO: the last one on the terminal has ended
        while await_text not in output:
            output += os.read(terminal, 4096)
        os.write(terminal, typed)
        while True:
            os.read(terminal, 4096)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def terminal_tests(tini, environment):
    code = type_on_terminal([tini, '--', 'dash'], environment, b'#', b'exit 0\n')
    expect('terminal: exit 0', code == 0, code)
    loop = 'while true; do echo \\#; sleep 0.1; done'
    code = type_on_terminal([tini, '--', 'dash', '-c', loop], environment, b'#', b'\x03')
    expect('terminal: ^C', code == 128 + signal.SIGINT, code)


def main():
    cache, program = sys.argv[1:]
    source = suite.fetch(cache, 'tini', '0.19.0-1')
    with tempfile.TemporaryDirectory(prefix='trainit-test.') as build:
        suite.link(build, 'tini', program)
        # Some of the programs ask for `python`.
        os.mkdir(os.path.join(build, 'bin'))
        for name in ('python', 'python3'):
            os.symlink(sys.executable, os.path.join(build, 'bin', name))
        subprocess.run([os.environ.get('CC', 'cc'), '-o', os.path.join(build, 'sigconf-test'),
                        os.path.join(source, 'test/sigconf/sigconf-test.c')], check=True)
        environment = dict(os.environ, SOURCE_DIR=source, BUILD_DIR=build, FORCE_SUBREAPER='1',
                           PYTHONPATH=os.path.join(suite.HERE, 'modules'),
                           PYTHONDONTWRITEBYTECODE='1', PS1='# ',
                           PATH=os.path.join(build, 'bin') + ':' + os.environ['PATH'])
        tini = os.path.join(build, 'tini')
        smoke_tests(tini)
        terminal_tests(tini, environment)
        outer_tests(tini, source, environment)
        inner_tests(source, build, environment)
    print(f'{len(FAILED)} failed: {", ".join(FAILED)}' if FAILED else 'all passed')
    return 1 if FAILED else 0


if __name__ == '__main__':
    sys.exit(main())
