#!/usr/bin/python3
"""dumb-init's own tests, unchanged: dumb_init_suite.py CACHE PROGRAM

PROGRAM is what `dumb-init` on PATH leads to.
"""

import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'modules'))
sys.dont_write_bytecode = True

import suite  # noqa: E402


def main():
    cache, program = sys.argv[1:]
    source = suite.fetch(cache, 'dumb-init', '1.2.5-2')
    with tempfile.TemporaryDirectory(prefix='trainit-test.') as work:
        copy = os.path.join(work, 'source')
        shutil.copytree(source, copy, symlinks=True)
        programs = os.path.join(work, 'bin')
        suite.link(programs, 'dumb-init', program)
        environment = dict(os.environ, PATH=programs + ':' + os.environ['PATH'])
        tests = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'tests']
        return suite.run_as_reaper(tests, cwd=copy, env=environment)


if __name__ == '__main__':
    sys.exit(main())
