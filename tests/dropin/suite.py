"""What the runners of other programs' suites share."""

import ctypes
import os
import platform
import shutil
import signal
import subprocess
import sys

import prctl
import psutil

HERE = os.path.dirname(os.path.abspath(__file__))


def reset_hidden_signals():
    """Those that the C library keeps to itself: whoever runs this may ignore them, and tini's own
    test knows no names for them."""
    call = {'x86_64': 13, 'aarch64': 134}.get(platform.machine())  # rt_sigaction
    default = ctypes.create_string_buffer(32)
    for number in (32, 33):
        if call is not None:
            ctypes.CDLL(None).syscall(call, number, default, None, 8)


def fetch(cache, package, version):
    """The directory of the sources. Ends the test, as a skipped one, where there is none."""
    reset_hidden_signals()
    command = [os.path.join(HERE, '..', '..', '.ci', 'source'), cache, package, version]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        print(f'SKIPPED: no source package of {package}: its own tests do not run')
        sys.exit(0)
    return result.stdout.strip()


def link(directory, name, target):
    """A hard one, or a copy: one test looks for the link's end and calls that by its own name."""
    os.makedirs(directory, exist_ok=True)
    try:
        os.link(os.path.realpath(target), os.path.join(directory, name))
    except OSError:
        shutil.copy2(target, os.path.join(directory, name))


def end_leftovers():
    """Tests leave `sleep 100` behind, which holds the output that the caller reads to its end."""
    while True:
        for child in psutil.Process(os.getpid()).children():
            os.kill(child.pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def run_as_reaper(command, **options):
    """Runs it to its end and reaps what it leaves, which not every machine's PID 1 does."""
    prctl.set_child_subreaper(1)
    main = subprocess.Popen(command, **options)
    while main.returncode is None:
        pid, status = os.waitpid(-1, 0)
        if pid == main.pid:
            main.returncode = os.waitstatus_to_exitcode(status)
    end_leftovers()
    return main.returncode
