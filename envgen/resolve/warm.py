# Made by trainit (--warm): this Python stands by with modules imported, until it becomes a rank.
#
# It was started with the rank's own command, and stops here, in sitecustomize, before it looks at
# its program. When it is told to, over a socket, it takes the rank's descriptors and variables and
# goes on; from then on Python itself does what it does with that command. Where anything is not as
# a rank needs it, it ends, or executes the command anew. For Python 3.8 and later; no module stays
# that a rank would not have, but the ones that were asked for.
import os
import sys

_VARIABLE = 'TRAINIT_WARM_PARK'
_MOST_BYTES = 1 << 20  # of what modules print
_MOST_FILES = 200  # of the program's own that are read
_MOST_FDS = 4
_STORE_S = 0.5


class _Cannot(Exception):
    pass


def _adjust_oom(score):
    with open('/proc/self/oom_score_adj', 'r+') as file:
        before = file.read().strip()
        file.seek(0)
        file.write(str(score))
    return before


def _capture():
    """What modules print is the rank's to print, when there is one."""
    for fd in (1, 2):
        memory = os.memfd_create('trainit-warm')
        os.dup2(memory, fd)
        os.close(memory)


def _captured():
    sys.stdout.flush()
    sys.stderr.flush()
    texts = []
    for fd in (1, 2):
        size = os.lseek(fd, 0, os.SEEK_END)
        if size > _MOST_BYTES:
            raise _Cannot('its modules print more than 1 MiB')
        texts.append(os.pread(fd, size, 0))
    return texts


def _write(fd, text):
    while text:
        text = text[os.write(fd, text):]


def _check_state():
    for name in os.listdir('/proc/self/fd'):
        try:
            path = os.readlink('/proc/self/fd/' + name)
        except OSError:
            continue
        common = ('/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom')
        if path.startswith('/dev/') and not path.startswith(('/dev/shm/',) + common):
            raise _Cannot('its modules open the device ' + path)
    for thread in os.listdir('/proc/self/task'):
        try:
            with open('/proc/self/task/' + thread + '/children') as file:
                children = file.read()
        except OSError:
            continue
        if children.strip():
            raise _Cannot('its modules start processes')


def _size_kb():
    """Its own memory; what it shares with others, by its part."""
    try:
        with open('/proc/self/smaps_rollup') as file:
            for line in file:
                if line.startswith('Pss:'):
                    return int(line.split()[1])
    except OSError:
        pass
    with open('/proc/self/statm') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') // 1024


def _find(name):
    """The spec of a module; nothing of the program's own is run for it."""
    head, _, _ = name.rpartition('.')
    path = None
    if head:
        parent = _find(head)
        path = parent and parent.submodule_search_locations
        if not path:
            return None
    for finder in sys.meta_path:
        find = getattr(finder, 'find_spec', None)
        spec = find and find(name, path)
        if spec:
            return spec
    return None


class _Program:
    """What a program imports at its top level, in its order, up to the first line that does more
    than to define and to import: what that does may matter to the imports behind it."""

    def __init__(self, roots):
        self.roots = roots
        self.seen = set()
        self.stopped = ''

    def is_own(self, spec):
        places = [spec.origin or ''] + list(spec.submodule_search_locations or ())
        return any(place.startswith(root + os.sep) and not (
            os.sep + 'site-packages' + os.sep in place or os.sep + 'dist-packages' + os.sep in place)
            for place in places for root in self.roots)

    def statements(self, path, package):
        path = os.path.realpath(path)
        if path in self.seen or len(self.seen) >= _MOST_FILES:
            return
        self.seen.add(path)
        with open(path, 'rb') as file:
            body = compile(file.read(), path, 'exec', 0x400, True).body  # PyCF_ONLY_AST
        yield from self.walk(body, path, package)

    def walk(self, body, path, package):
        for node in body:
            if self.stopped:
                return
            kind = type(node).__name__
            if kind == 'Import':
                for one in node.names:
                    yield from self.follow(one.name, 'import ' + one.name)
            elif kind == 'ImportFrom':
                yield from self.follow_from(node, package)
            elif kind == 'Try' and not node.finalbody:
                yield from self.walk(node.body + node.orelse, path, package)
            elif kind == 'If' and self.names(node.test) <= {'TYPE_CHECKING', 'typing'}:
                yield from self.walk(node.orelse, path, package)
            elif kind in ('FunctionDef', 'AsyncFunctionDef', 'ClassDef', 'Pass'):
                continue
            elif not self.is_quiet(node, kind):
                self.stopped = '%s:%d' % (path, node.lineno)

    def follow(self, name, statement):
        parts = name.split('.')
        first = _find(parts[0])
        if not first:
            return
        if not self.is_own(first):
            yield parts[0], statement
            return
        for size in range(1, len(parts) + 1):
            spec = _find('.'.join(parts[:size]))
            if spec and spec.origin and spec.origin.endswith('.py'):
                package = spec.name if spec.submodule_search_locations is not None else spec.parent
                yield from self.statements(spec.origin, package)

    def follow_from(self, node, package):
        base = node.module or ''
        if node.level:
            parts = (package or '').split('.')
            parts = parts[:len(parts) - node.level + 1]
            base = '.'.join(parts + ([base] if base else []))
        if not base or base == '__future__':
            return
        names = [one.name for one in node.names]
        first = _find(base.partition('.')[0])
        yield from self.follow(base, 'from %s import %s' % (base, ', '.join(names)))
        if first and self.is_own(first):
            for name in names:
                if name != '*' and _find(base + '.' + name):
                    yield from self.follow(base + '.' + name, '')

    @staticmethod
    def nodes(node):
        yield node
        for field in node._fields:
            value = getattr(node, field, None)
            for one in value if isinstance(value, list) else [value]:
                if hasattr(one, '_fields'):
                    yield from _Program.nodes(one)

    @staticmethod
    def names(node):
        return {getattr(one, 'attr', None) or getattr(one, 'id', None)
                for one in _Program.nodes(node) if type(one).__name__ != 'Load'}

    @staticmethod
    def is_quiet(node, kind):
        if kind == 'Expr':
            return type(node.value).__name__ in ('Constant', 'Str')
        if kind not in ('Assign', 'AnnAssign'):
            return False
        targets = node.targets if kind == 'Assign' else [node.target]
        if any(type(target).__name__ != 'Name' for target in targets):
            return False
        calls = [one for one in _Program.nodes(node) if type(one).__name__ in (
            'Call', 'Await', 'Yield', 'YieldFrom', 'NamedExpr')]
        return all(getattr(getattr(one, 'func', None), 'attr', '') == 'getLogger' for one in calls)


def _import_listed(modules):
    for name in modules:
        __import__(name)
    return [name.partition('.')[0] for name in modules], ''


def _import_found(operand, is_module, roots):
    program = _Program(roots)
    if is_module:
        spec = _find(operand)
        if spec and spec.submodule_search_locations is not None:
            operand += '.__main__'
            spec = _find(operand)
        if not spec or not spec.origin:
            raise _Cannot('its module ' + operand + ' is not found')
        found = program.statements(spec.origin, spec.parent)
    else:
        found = program.statements(operand, None)
    names = []
    for name, statement in found:
        try:
            exec(statement, {'__name__': '__main__'})
        except ImportError:
            continue  # a program may look whether there is one
        names.append(name)
    return names, program.stopped


def _import_modules(order):
    kind, operand, modules = order[0], order[1], order[2:]
    is_module = kind == 'module'
    if not is_module and not os.path.isfile(operand):
        raise _Cannot('its program ' + operand + ' is no file')
    home = os.getcwd() if is_module else os.path.dirname(os.path.realpath(operand))
    safe = getattr(sys.flags, 'safe_path', False)
    if not safe:
        sys.path.insert(0, home)
    roots = {home, os.getcwd()}
    try:
        if modules == ['auto']:
            names, stopped = _import_found(operand, is_module, roots)
        else:
            names, stopped = _import_listed(modules)
    finally:
        if not safe:
            if sys.path[:1] != [home]:
                raise _Cannot('its modules put another directory in front on sys.path')
            del sys.path[0]
    return list(dict.fromkeys(names)), stopped, _own_files(roots)


def _own_files(roots):
    files = {}
    for module in list(sys.modules.values()):
        path = getattr(module, '__file__', None)
        if isinstance(path, str) and path.startswith(tuple(root + os.sep for root in roots)):
            files[path] = _stamp(path)
    return files


def _stamp(path):
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _fields(packet):
    return [os.fsdecode(field) for field in packet.split(b'\0')]


def _send(channel, *fields):
    channel.send(b'\0'.join(os.fsencode(str(field)) for field in fields))


def _receive(channel):
    """Only the end of a trainit, or of what it wants, comes as nothing."""
    import _socket
    packet, extra, flags, _ = channel.recvmsg(1 << 20, _socket.CMSG_LEN(4 * _MOST_FDS))
    if not packet:
        os._exit(0)
    fds = []
    for _, _, data in extra:
        fds += [int.from_bytes(data[i:i + 4], sys.byteorder) for i in range(0, len(data) - 3, 4)]
    return _fields(packet), fds


def _edit(environment, edit, to_bytes):
    name, is_set, value = edit.partition('=')
    encode = os.fsencode if to_bytes else str
    if is_set:
        environment[encode(name)] = encode(value)
    else:
        environment.pop(encode(name), None)


def _become(fds, texts, oom_score, files):
    """The last steps are the rank's own: what it prints is in its log."""
    for target in range(3):
        os.dup2(fds[target], target)
        os.close(fds[target])
    _adjust_oom(oom_score)
    for path, stamp in files.items():
        if _stamp(path) != stamp:
            return path + ' is another one'
    _write(1, texts[0])
    _write(2, texts[1])
    return ''


def _is_listening(port):
    for name in ('tcp', 'tcp6'):
        try:
            with open('/proc/net/' + name) as file:
                for line in file:
                    words = line.split()
                    if words[3] == '0A' and words[1].endswith(port):
                        return True
        except OSError:
            pass
    return False


def _await_store(time):
    """Ranks that start at once meet at rank 0's store, which is not there yet: PyTorch's next look
    is a second later. Of this node's own rank 0 that can be waited for."""
    variable = os.environ.get
    if 'torch' not in sys.modules or variable('GROUP_RANK') != '0' or variable('RANK') == '0':
        return
    try:
        port = ':%04X' % int(variable('MASTER_PORT', ''))
    except ValueError:
        return
    until = time.monotonic() + _STORE_S
    while not _is_listening(port) and time.monotonic() < until:
        time.sleep(0.002)


def _stand_by(fd, initial):
    import _socket
    import time
    channel = _socket.socket(fileno=fd)
    os.set_inheritable(fd, False)
    try:
        oom_score = _adjust_oom(1000)
        _adjust_oom(oom_score)
        _adjust_oom(1000)
        _capture()
        _leave_path(__file__.rsplit('/', 1)[0])
        stack_hook = _take_stack_hook()
        missing = _pass_on()
        begun = time.monotonic()
        order, _ = _receive(channel)
        names, stopped, files = _import_modules(order)
        texts = _captured()
        _check_state()
    except BaseException as error:
        reason = str(error) if isinstance(error, _Cannot) else '%s: %s' % (
            type(error).__name__, error)
        _send(channel, 'cannot', reason[:1000])
        os._exit(0)
    _send(channel, 'ready', _size_kb(), int(1000 * (time.monotonic() - begun)), ', '.join(names),
          stopped)
    (_, *edits), fds = _receive(channel)
    os.set_inheritable(fds[3], False)
    try:
        for edit in edits:
            _edit(os.environ, edit, False)
            _edit(initial, edit, True)
        reason = _become(fds, texts, oom_score, files)
    except Exception as error:
        reason = '%s: %s' % (type(error).__name__, error)
    if reason:
        _send(channel, 'cold', reason)
        with open('/proc/self/cmdline', 'rb') as file:
            command = file.read()[:-1].split(b'\0')
        os.execvpe(command[0], command, initial)
    channel.close()
    os.close(fds[3])  # who started it knows by this that it runs
    if stack_hook:
        exec(stack_hook, {'__file__': stack_hook.co_filename, '__name__': 'sitecustomize'})
    _await_store(time)
    return missing


def _leave_path(directory):
    sys.path[:] = [entry for entry in sys.path if entry != directory]
    sys.path_importer_cache.pop(directory, None)


def _take_stack_hook():
    """What registers a process for `trainit stacks` (envgen/failure/python_hook.cc) would do so for
    this one: its first half is the rank's."""
    for directory in sys.path:
        path = directory + '/sitecustomize.py'
        try:
            with open(path) as file:
                text = file.read()
        except (OSError, ValueError):
            continue
        if not text.startswith('# Made by trainit: this process writes its stacks'):
            return None
        _leave_path(directory)
        return compile(text.partition('# From here on')[0], path, 'exec')
    return None


def _pass_on():
    """To the sitecustomize behind this one, as if this were not there."""
    _leave_path(__file__.rsplit('/', 1)[0])
    sys.modules.pop('sitecustomize', None)
    try:
        import sitecustomize
    except ImportError as error:
        if error.name != 'sitecustomize':
            raise
        return error
    return None


def _initial_environment():
    """As it was handed to this process: Python may have set LC_CTYPE since."""
    with open('/proc/self/environ', 'rb') as file:
        entries = file.read().split(b'\0')
    variables = {}
    for entry in entries:
        name, is_set, value = entry.partition(b'=')
        if is_set:
            variables.setdefault(name, value)
    return variables


def _begin(order):
    stage, fd, path = order.split(' ', 2)
    initial = _initial_environment()
    if stage == 'probe':
        initial[os.fsencode(_VARIABLE)] = os.fsencode('park %s %s' % (fd, path))
        sys._trainit_warm = sys.version_info >= (3, 8) and initial
        return None
    try:
        for environment, name in ((os.environ, 'PYTHONPATH'), (initial, b'PYTHONPATH')):
            del environment[name]
            if path.startswith('='):
                environment[name] = path[1:] if environment is os.environ else os.fsencode(path[1:])
        del initial[os.fsencode(_VARIABLE)]
        return _stand_by(int(fd), initial)
    except BaseException:
        os._exit(3)


_order = os.environ.pop(_VARIABLE, None)
_missing = _pass_on() if _order is None else _begin(_order)
if _missing:
    raise _missing
