#!/usr/bin/python3
"""images/prepare-image over base images of many kinds, each a chroot of its own.

prepare_image_test.py SCRIPT
What differs between bases is who writes their files (coreutils, busybox, nobody) and who is in
them. TRAINIT_BASES names a folder of tarballs of whole systems, which are bases as well. Root alone
can make them: exit 77 for others.
"""

import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

SCRIPT = ''
APPLETS = 'sh cat chmod chown cp id ln ls mkdir rm'.split()
ENVIRONMENT = {'PATH': '/usr/sbin:/usr/bin:/sbin:/bin'}
ADDED = '/home/ma-user'
WRITTEN = {f'/etc/{name}' for name in ('passwd', 'shadow', 'group', 'gshadow', 'subuid', 'subgid')}

ROOT_USER = 'root:x:0:0:root:/root:/bin/sh\n'
GROUPS = 'root:x:0:\nusers:x:100:\n'


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    os.chmod(path, mode)


def copy_program(root, program):
    """With the libraries that it is linked with."""
    path = shutil.which(program)
    linked = subprocess.run(['ldd', path], capture_output=True, text=True, check=False).stdout
    for source in [path, *re.findall(r'(/\S+) \(0x', linked)]:
        target = root + source
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)
    return path


def toolbox(root, kind):
    """Who answers to the names that a shell script calls."""
    if kind == 'busybox':
        busybox = copy_program(root, 'busybox')
        for applet in APPLETS:
            write_link(root + '/bin/' + applet, busybox)
    elif kind == 'coreutils':
        write_link(root + '/bin/sh', copy_program(root, 'dash'))
        for applet in APPLETS[1:]:
            copy_program(root, applet)
    else:
        subprocess.run(['tar', '-C', root, '--exclude=./dev/*', '-xpf', kind], check=True)


def write_link(path, target):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not os.path.lexists(path):
        os.symlink(target, path)


def toolboxes():
    folder = os.environ.get('TRAINIT_BASES')
    more = sorted(os.listdir(folder)) if folder else []
    return ['busybox', 'coreutils'] + [os.path.join(folder, name) for name in more
                                       if name.endswith('.tar')]


def tree(root):
    """All that is there: kind, mode, owner, content."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            content = ''
            if stat.S_ISREG(status.st_mode):
                with open(path, 'rb') as file:
                    content = hashlib.sha256(file.read()).hexdigest()
            elif stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            found[path[len(root):]] = (status.st_mode, status.st_uid, status.st_gid, content)
    return found


class Base:
    """A root; `files` are as the image has them, `owned` directories with a file in each."""

    def __init__(self, kind, passwd=ROOT_USER, group=GROUPS, files=None, owned=None):
        self.root = tempfile.mkdtemp(prefix='trainit-base.')
        os.chmod(self.root, 0o755)
        toolbox(self.root, kind)
        write(self.root + '/dev/null', '')  # mounted over
        for path, text in {'/etc/passwd': passwd, '/etc/group': group, **(files or {})}.items():
            if text is None:
                if os.path.exists(self.root + path):
                    os.unlink(self.root + path)
            else:
                write(self.root + path, text, 0o755 if '/bin/' in path else 0o644)
        for path, owner in (owned or {}).items():
            write(f'{self.root}{path}/kept', 'of the base image')
            for each in (path, path + '/kept'):
                os.chown(self.root + each, *owner)
        shutil.copy(SCRIPT, self.root + '/prepare-image')
        self.before = tree(self.root)

    def run(self, *arguments, script='/prepare-image "$@"', read_only=False,
            user='0:0'):
        enter = ['mount --bind "$0" "$0"', 'mount --bind /dev/null "$0/dev/null"']
        enter += ['mount -o remount,bind,ro "$0"'] * read_only + [f'exec chroot --userspec={user} "$0" /bin/sh -c "$@"']
        return subprocess.run(
            ['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-ec', '\n'.join(enter),
             self.root, script, 'sh', *arguments], capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, env=ENVIRONMENT)

    def lines(self, path):
        with open(self.root + path, encoding='utf-8') as file:
            return file.read().splitlines()

    def lost(self):
        """What the base image had, and has no more, or otherwise."""
        now = tree(self.root)
        return [path for path, what in self.before.items()
                if path not in WRITTEN and not path.startswith('/dev/') and now.get(path) != what]


def over_bases(**how):
    def made(test):
        def run(self):
            for kind in toolboxes():
                with self.subTest(os.path.basename(kind)):
                    base = Base(kind, **how)
                    try:
                        test(self, base)
                    finally:
                        shutil.rmtree(base.root)
        return run
    return made


class PrepareImage(unittest.TestCase):
    def prepared(self, base, *arguments):
        done = base.run(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
        self.assertEqual(base.lost(), [])
        told = base.run(script='echo $(id -u ma-user):$(id -g ma-user)')
        self.assertEqual(told.stdout, '1000:100\n', told.stderr)
        names = [line.split(':')[0] for line in base.lines('/etc/passwd') if ':1000:' in line]
        self.assertEqual(names, ['ma-user'])
        home = base.run(script=f'ls -nd {ADDED}/.').stdout
        self.assertRegex(home, r'^drwx\S+ +\d+ 1000 ')
        again = tree(base.root)
        self.assertEqual(base.run(*arguments).returncode, 0)
        self.assertEqual(tree(base.root), again)  # nothing is done twice

    def refused(self, base, *texts, arguments=()):
        done = base.run(*arguments)
        self.assertEqual(done.returncode, 1, done.stderr)
        for text in ('prepare-image: ', *texts):
            self.assertIn(text, done.stderr)
        return done

    def user(self, base):
        [line] = [line for line in base.lines('/etc/passwd') if line.startswith('ma-user:')]
        return line

    @over_bases(files={'/etc/shadow': 'root:*:1::::::\n', '/etc/skel/.profile': 'x'})
    def test_a_base_without_such_a_user(self, base):
        self.prepared(base)
        self.assertRegex(self.user(base), r'^ma-user:x:1000:100::/home/ma-user:/bin/(ba)?sh$')
        self.assertIn('ma-user:*::0:99999:7:::', base.lines('/etc/shadow'))
        self.assertEqual(base.lines('/home/ma-user/.profile'), ['x'])
        self.assertEqual(os.stat(base.root + ADDED).st_mode & 0o777, 0o750)
        self.assertEqual(os.stat(base.root + ADDED + '/.profile').st_uid, 1000)

    @over_bases(passwd=ROOT_USER.strip(), group='root:x:0:',
                files={'/etc/shadow': None, '/etc/gshadow': None})
    def test_a_base_without_shadows_and_a_last_line_without_end(self, base):
        self.prepared(base, '--ascend')
        self.assertRegex(self.user(base), r'^ma-user:\*:1000:100:')
        self.assertEqual(base.lines('/etc/group'),
                         ['root:x:0:', 'ma-group:x:100:', 'HwHiAiUser:x:1000:ma-user'])
        self.assertEqual(base.lines('/etc/passwd')[0], ROOT_USER.strip())

    @over_bases(passwd=ROOT_USER + 'ubuntu:x:1000:1000:Ubuntu \\0 x,,,:/home/ubuntu:/bin/sh\n',
                group=GROUPS + 'sudo:x:27:ubuntu\nx:x:44:a,ubuntu,b\ny:x:45:ubuntux\nubuntu:x:1000:\n',
                files={'/etc/shadow': 'ubuntu:!:19000:0:99999:7:::\n', '/etc/subuid': 'ubuntu:9:9\n',
                '/etc/gshadow': 'sudo:*::ubuntu\nubuntu:!::\n'},
                owned={'/home/ubuntu': (1000, 1000)})
    def test_the_user_of_an_ubuntu_keeps_files_and_groups(self, base):
        self.prepared(base)
        self.assertEqual(self.user(base),
                         'ma-user:x:1000:100:Ubuntu \\0 x,,,:/home/ma-user:/bin/sh')
        self.assertEqual(base.lines('/etc/group')[2:],
                         ['sudo:x:27:ma-user', 'x:x:44:a,ma-user,b', 'y:x:45:ubuntux',
                          'ubuntu:x:1000:ma-user'])
        self.assertEqual(base.lines('/etc/gshadow')[0], 'sudo:*::ma-user')
        self.assertEqual(base.lines('/etc/shadow'), ['ma-user:!:19000:0:99999:7:::'])
        self.assertEqual(base.lines('/etc/subuid'), ['ma-user:9:9'])
        told = base.run(script='cat /home/ma-user/kept /home/ubuntu/kept')
        self.assertEqual(told.stdout, 'of the base image' * 2)

    @over_bases(passwd=ROOT_USER + 'app:x:1000:1000::/app:/usr/sbin/nologin\n',
                group=GROUPS + 'app:x:1000:\n', owned={'/app': (1000, 1000)})
    def test_a_home_outside_of_home_stays_the_users(self, base):
        self.prepared(base)
        # Nobody is let in by ssh with nologin.
        self.assertRegex(self.user(base), '^ma-user:x:1000:100::/app:/bin/(ba)?sh$')

    @over_bases(passwd=ROOT_USER + 'worker:x:1000:0::/:/bin/sh\n',
                owned={'/opt/conda': (1000, 0), '/srv': (0, 0)})
    def test_the_root_as_a_home_keeps_its_groups(self, base):
        # The group of all that is root's would be another one.
        self.prepared(base)
        self.assertEqual(self.user(base), 'ma-user:x:1000:100::/:/bin/sh')
        self.assertIn('root:x:0:ma-user', base.lines('/etc/group'))

    def expect_home_of_its_own(self, base):
        self.prepared(base)
        self.assertFalse(os.path.islink(base.root + ADDED))
        self.assertEqual(self.user(base), 'ma-user:x:1000:100::/home/ma-user:/bin/sh')

    @over_bases(passwd=ROOT_USER + 'jovyan:x:1000:100::/home/jovyan:/bin/sh\n')
    def test_a_home_that_is_missing(self, base):
        self.expect_home_of_its_own(base)

    @over_bases(passwd=ROOT_USER + 'jovyan:x:1000:100::/home/jovyan:/bin/sh\n',
                owned={'/home/jovyan': (0, 0)})
    def test_a_home_of_another_user(self, base):
        self.expect_home_of_its_own(base)

    @over_bases(group='root:x:0:\nma-group:x:2000:\nHwHiAiUser:x:1001:\nusers:x:3:\n')
    def test_a_group_of_that_name_and_another_number(self, base):
        self.prepared(base, '--ascend')
        self.assertEqual(base.lines('/etc/group')[4:], ['gid-100:x:100:', 'gid-1000:x:1000:ma-user'])

    @over_bases(passwd=ROOT_USER + 'ma-user:x:1000:2000::/home/ma-user:/bin/sh\n',
                group=GROUPS + 'ma-group:x:2000:\n')
    def test_ma_user_is_there(self, base):
        self.prepared(base)
        self.assertIn('ma-group:x:2000:ma-user', base.lines('/etc/group'))

    @over_bases(passwd=ROOT_USER + 'ma-user:x:1500:1500::/home/ma-user:/bin/sh\n')
    def test_ma_user_has_another_number(self, base):
        self.refused(base, 'ma-user is uid 1500 here', 'userdel')
        self.assertEqual(tree(base.root), base.before)

    @over_bases(passwd=ROOT_USER + 'HwHiAiUser:x:1000:1000::/home/HwHiAiUser:/bin/sh\n',
                group=GROUPS + 'HwHiAiUser:x:1000:\n',
                owned={'/home/HwHiAiUser': (1000, 1000)})
    def test_the_npus_group_of_an_ascend_image(self, base):
        self.prepared(base, '--ascend')
        self.assertIn('HwHiAiUser:x:1000:ma-user', base.lines('/etc/group'))

    @over_bases()
    def test_a_read_only_root(self, base):
        done = base.run(read_only=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn('/etc/passwd cannot be written: run it while the image is built', done.stderr)

    @over_bases()
    def test_users_that_are_kept_in_no_file(self, base):
        os.unlink(base.root + '/etc/passwd')
        os.mkdir(base.root + '/etc/passwd.d')
        os.symlink('passwd.d', base.root + '/etc/passwd')
        self.refused(base, '/etc/passwd is no regular file')

    @over_bases()
    def test_a_base_with_nothing_but_a_shell(self, base):
        os.unlink(base.root + base.run(script='command -v chown').stdout.strip())
        self.refused(base, 'there is no chown here: install coreutils or busybox', 'ENTRYPOINT')

    @over_bases()
    def test_another_user_than_root(self, base):
        done = base.run(user='7:7')
        self.assertEqual(done.returncode, 1)
        self.assertIn('run it as root: USER root', done.stderr)

    @over_bases()
    def test_users_stay_where_asked(self, base):
        done = base.run('--keep-users')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertEqual(tree(base.root), base.before)
        done = base.run('--keep-users', '--sshd', user='7:7')
        self.assertEqual(done.returncode, 1)
        self.assertIn('only root can install sshd, and USER of the base image is 7', done.stderr)
        self.assertIn('or without WITH_SSHD=1 on a base image that has sshd', done.stderr)


# Package manager: what it is asked for.
MANAGERS = {
    'apt-get': ['update -qq', 'install -y -qq --no-install-recommends openssh-server openssh-client',
                'clean'],
    'dnf': ['install -y -q openssh-server openssh-clients', 'clean all -q'],
    'microdnf': ['install -y openssh-server openssh-clients', 'clean all'],
    'yum': ['install -y -q openssh-server openssh-clients', 'clean all -q'],
    'zypper': ['--non-interactive --quiet install --no-recommends openssh',
               '--non-interactive --quiet clean --all'],
    'apk': ['add --quiet --no-cache openssh'],
}
RECORDS = '#!/bin/sh\necho "$*" >>/asked\n'
INSTALLS = RECORDS + '''case $* in *openssh*)
  mkdir -p /usr/sbin /etc/ssh
  echo key >/etc/ssh/ssh_host_rsa_key
  for program in /usr/sbin/sshd /usr/bin/ssh; do echo "#!/bin/sh" >"$program"; chmod 755 "$program"; done ;;
esac
'''


class Sshd(unittest.TestCase):
    def base(self, files):
        base = Base('busybox', files=files)
        self.addCleanup(shutil.rmtree, base.root)
        return base

    def test_is_installed_by_the_bases_own_manager(self):
        for manager, asked in MANAGERS.items():
            with self.subTest(manager):
                base = self.base({f'/usr/bin/{manager}': INSTALLS})
                done = base.run('--sshd')
                self.assertEqual((done.returncode, done.stderr), (0, ''))
                self.assertEqual(base.lines('/asked'), asked)
                self.assertFalse(os.path.exists(base.root + '/etc/ssh/ssh_host_rsa_key'))
                self.assertTrue(os.path.isdir(base.root + '/run/sshd'))

    def test_of_the_base_is_enough(self):
        base = self.base({'/usr/sbin/sshd': '', '/usr/bin/ssh': '#!/bin/sh\n',
                          '/usr/bin/apt-get': RECORDS})
        os.chmod(base.root + '/usr/sbin/sshd', 0o755)
        self.assertEqual(base.run('--sshd').returncode, 0)
        self.assertFalse(os.path.exists(base.root + '/asked'))

    def test_without_ssh_is_half_of_it(self):
        base = self.base({'/usr/sbin/sshd': '', '/usr/bin/apk': INSTALLS})
        os.chmod(base.root + '/usr/sbin/sshd', 0o755)
        self.assertEqual(base.run('--sshd').returncode, 0)
        self.assertEqual(base.lines('/asked'), MANAGERS['apk'])

    def test_that_cannot_be_had_is_told(self):
        for files, said in (({}, 'no apt-get, dnf, microdnf, yum, zypper or apk here'),
                            ({'/usr/bin/apk': '#!/bin/sh\nexit 3\n'}, 'apk could not install OpenSSH'),
                            ({'/usr/bin/apk': RECORDS}, 'sshd or ssh is not on the PATH')):
            with self.subTest(said):
                done = self.base(files).run('--sshd')
                self.assertEqual(done.returncode, 1)
                self.assertIn(said, done.stderr)
                self.assertIn('into the base image', done.stderr)

    def test_is_not_installed_unasked(self):
        base = self.base({'/usr/bin/apk': INSTALLS})
        self.assertEqual(base.run().returncode, 0)
        self.assertFalse(os.path.exists(base.root + '/asked'))
        self.assertIn('no such option: --ssh', base.run('--ssh').stderr)


if __name__ == '__main__':
    SCRIPT = sys.argv.pop(1)
    if os.geteuid() != 0:
        print('SKIPPED: only root can make the bases')
        sys.exit(77)
    unittest.main()
