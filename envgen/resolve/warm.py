# Made by trainit (--warm): this Python stands by with modules imported, until it becomes a rank.
#
# It was started with the rank's own command, and stops here, in sitecustomize, before it looks at
# its program. When it is told to, over a socket, it takes the rank's descriptors and variables and
# goes on; from then on Python itself does what it does with that command. Where anything is not as
# a rank needs it, it ends, or executes the command anew. For Python 3.8 and later; no module stays
# that a rank would not have, but the ones that were asked for, and _socket.
import os
import sys

_VARIABLE = 'TRAINIT_WARM_PARK'
_MOST_BYTES = 1 << 20  # of what modules print
_MOST_FILES = 200  # of the program's own that are read
_MOST_FDS = 4
# Calls and decorators at a module's top level that change nothing a module goes by.
_QUIET = ('getLogger', 'TypeVar', 'field', 'dataclass', 'property', 'staticmethod', 'classmethod',
          'abstractmethod')
_STORE_S = 0.5


class _Cannot(Exception):
    pass


def _adjust_oom(score):
    with open('/proc/self/oom_score_adj', 'r+') as file:
        before = file.read().strip()
        file.seek(0)
        file.write(str(score))
    return before


def _memory():
    """A file without a name. Python for an older C library, as conda's, has no memfd_create."""
    if hasattr(os, 'memfd_create'):
        return os.memfd_create('trainit-warm')
    for directory in ('/dev/shm', os.environ.get('TMPDIR', '/tmp'), '.'):
        try:
            return os.open(directory, 0o20000000 | os.O_DIRECTORY | os.O_RDWR, 0o600)  # O_TMPFILE
        except OSError as error:
            last = error
    raise last


def _capture():
    """What modules print is the rank's to print, when there is one."""
    for fd in (1, 2):
        memory = _memory()
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
        self.missing = False  # the last import, so that the rest of its `try` is not run

    def is_own(self, spec):
        places = [spec.origin or ''] + list(spec.submodule_search_locations or ())
        return any(place.startswith(root.rstrip('/') + '/') and not (
            '/site-packages/' in place or '/dist-packages/' in place)
            for place in places for root in self.roots)

    def statements(self, path, package):
        path = os.path.realpath(path)
        if path in self.seen:
            return
        if len(self.seen) >= _MOST_FILES:
            self.stopped = path
            return
        self.seen.add(path)
        with open(path, 'rb') as file:
            body = compile(file.read(), path, 'exec', 0x400, True).body  # PyCF_ONLY_AST
        yield from self.walk(body, path, package)

    def walk(self, body, path, package):
        for node in body:
            if self.stopped or self.missing:
                return
            kind = type(node).__name__
            if kind == 'Import':
                for one in node.names:
                    yield from self.follow(one.name, 'import ' + one.name)
            elif kind == 'ImportFrom':
                yield from self.follow_from(node, package)
            elif kind == 'Try' and not node.finalbody and self.are_handlers_quiet(node):
                yield from self.walk(node.body, path, package)
                if self.missing:
                    self.missing = False
                else:
                    yield from self.walk(node.orelse, path, package)
            elif kind == 'If' and self.names(node.test) <= {'TYPE_CHECKING', 'typing'}:
                yield from self.walk(node.orelse, path, package)
            elif not self.is_quiet(node):
                self.stopped = '%s:%d' % (path, node.lineno)

    def follow(self, name, statement):
        parts = name.split('.')
        first = _find(parts[0])
        if not first or not self.is_own(first):
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
    def calls_nothing(nodes):
        for node in nodes:
            for one in _Program.nodes(node):
                kind = type(one).__name__
                name = getattr(getattr(one, 'func', None), 'attr', '') or getattr(
                    getattr(one, 'func', None), 'id', '')
                if kind in ('Await', 'Yield', 'YieldFrom', 'NamedExpr') or (
                        kind == 'Call' and name not in _QUIET):
                    return False
        return True

    @staticmethod
    def is_quiet(node):
        """It defines something, and calls nothing for it but what _QUIET names. What a class does
        that is derived from, or an attribute that is read, is not counted."""
        kind = type(node).__name__
        if kind == 'Pass':
            return True
        if kind == 'Expr':
            return type(node.value).__name__ in ('Constant', 'Str')
        if kind in ('FunctionDef', 'AsyncFunctionDef'):
            return _Program.calls_nothing([node.args] + [node.returns] * bool(node.returns)) and (
                _Program.are_decorators_quiet(node))
        if kind == 'ClassDef':
            return not node.keywords and _Program.calls_nothing(node.bases) and (
                _Program.are_decorators_quiet(node)) and all(map(_Program.is_quiet, node.body))
        if kind not in ('Assign', 'AnnAssign'):
            return False
        targets = node.targets if kind == 'Assign' else [node.target]
        return all(type(target).__name__ == 'Name' for target in targets) and (
            _Program.calls_nothing([node]))

    @staticmethod
    def are_decorators_quiet(node):
        for one in node.decorator_list:
            named = getattr(one, 'func', one)
            if (getattr(named, 'attr', '') or getattr(named, 'id', '')) not in _QUIET:
                return False
        return _Program.calls_nothing(node.decorator_list)

    @staticmethod
    def are_handlers_quiet(node):
        return all(_Program.is_quiet(one) or type(one).__name__ in ('Raise', 'Import', 'ImportFrom')
                   for handler in node.handlers for one in handler.body)


def _import_listed(modules):
    for name in modules:
        __import__(name)
    return [name.partition('.')[0] for name in modules], ''


def _import_found(operand, is_module, roots, kept):
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
            program.missing = True  # a program may look whether there is one
            continue
        names.append(name)
    for path in program.seen:
        kept.add(path)
    return names, program.stopped


class _Kept:
    """What was there when the modules were imported, and has to be there when the rank starts."""

    def __init__(self, script, cwd):
        # A file that is as old as this may be another one than what was imported of it.
        self.begun_ns = _now_ns() - 20000000  # the kernel stamps with its last tick
        self.script = script and (script, os.path.realpath(script))
        self.cwd = cwd
        self.inherited = _inherited()
        self.stamps = {}

    def add(self, path):
        stamp = _stamp(path)
        if stamp:  # modules may name files that are none, as torch.ops does
            self.stamps[path] = stamp if max(stamp[0], stamp[1]) < self.begun_ns else None

    def add_modules(self, roots):
        """All but what is installed is compared file by file, packages that are installed by the
        directory that they are installed into."""
        self.add(sys.executable)
        below = tuple(root.rstrip('/') + '/' for root in roots)
        installed = ('/site-packages/', '/dist-packages/', os.path.dirname(os.__file__) + '/')
        for module in list(sys.modules.values()):
            path = getattr(module, '__file__', None)
            if isinstance(path, str) and path.startswith('/') and (
                    path.startswith(below) or not any(part in path for part in installed)):
                self.add(path)
        for directory in sys.path:
            if directory.endswith(('/site-packages', '/dist-packages')):
                # As it is now: that modules were compiled into it is no change.
                self.stamps[directory] = _stamp(directory)

    def check_inherited(self):
        for name, value in _inherited().items():
            if self.inherited[name] != value:
                raise _Cannot('its modules change its ' + name)

    def difference(self):
        if self.script and os.path.realpath(self.script[0]) != self.script[1]:
            return self.script[0] + ' leads to another file'
        if _identity(self.cwd) != self.inherited['working directory']:
            return self.cwd + ' is another directory'
        for path, stamp in self.stamps.items():
            if stamp is None or _stamp(path) != stamp:
                return path + ' is another one'
        return ''


def _now_ns():
    import time
    return time.time_ns()


def _identity(path):
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _stamp(path):
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _inherited():
    """What goes on to a command that it executes, and decides where its program is found."""
    import _signal
    with open('/proc/self/status') as file:
        signals = [line for line in file if line.startswith(('SigIgn:', 'SigBlk:'))]
    with open('/proc/self/limits') as file:
        limits = file.read()
    umask = os.umask(0)
    os.umask(umask)
    return {'signals': signals, 'limits': limits, 'umask': umask,
            'CPUs': os.sched_getaffinity(0), 'priority': os.getpriority(os.PRIO_PROCESS, 0),
            'alarm': _signal.getitimer(_signal.ITIMER_REAL)[0] > 0,
            'working directory': _identity('.')}


def _is_script(path):
    """Of a directory and an archive Python runs __main__, and finds modules in them."""
    for hook in sys.path_hooks:
        try:
            hook(path)
            return False
        except ImportError:
            continue
    return os.path.isfile(path)


def _import_modules(order):
    kind, operand, cwd, modules = order[0], order[1], order[2], order[3:]
    is_module = kind == 'module'
    if not is_module and not _is_script(operand):
        raise _Cannot('its program ' + operand + ' is no script')
    home = os.getcwd() if is_module else os.path.dirname(os.path.realpath(operand))
    kept = _Kept('' if is_module else operand, cwd or os.getcwd())
    safe = getattr(sys.flags, 'safe_path', False)
    if not safe:
        sys.path.insert(0, home)
    roots = {home, os.getcwd()}
    try:
        if modules == ['auto']:
            names, stopped = _import_found(operand, is_module, roots, kept)
        else:
            names, stopped = _import_listed(modules)
        kept.add_modules(roots)
    finally:
        if not safe:
            if sys.path[:1] != [home]:
                raise _Cannot('its modules put another directory in front on sys.path')
            del sys.path[0]
    return list(dict.fromkeys(names)), stopped, kept


def _fields(packet):
    return [os.fsdecode(field) for field in packet.split(b'\0')]


def _send(channel, *fields):
    channel.send(b'\0'.join(str(field).encode('utf-8', 'backslashreplace') for field in fields))


def _receive(channel):
    """Only the end of a trainit, or of what it wants, comes as nothing, or in part."""
    import _socket
    packet, extra, flags, _ = channel.recvmsg(1 << 20, _socket.CMSG_LEN(4 * _MOST_FDS))
    if not packet:
        os._exit(1)
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


def _become(fds, oom_score, kept):
    for target in range(3):
        os.dup2(fds[target], target)
        os.close(fds[target])
    _adjust_oom(oom_score)
    _forget_paths()
    return kept.difference()


def _forget_paths():
    """Directories may have come, or been filled, since modules were looked for in them."""
    for entry, finder in list(sys.path_importer_cache.items()):
        if finder is None:
            del sys.path_importer_cache[entry]
        elif hasattr(finder, 'invalidate_caches'):
            finder.invalidate_caches()


def _is_listening(port):
    for name in ('tcp', 'tcp6'):
        try:
            with open('/proc/net/' + name) as file:
                for line in file:
                    words = line.split()
                    if words[3:4] == ['0A'] and words[1].endswith(port):
                        return True
        except OSError:
            pass
    return False


def _can_connect(address, most_s):
    """PyTorch's store takes no notice of a connection that ends before it says anything."""
    import _socket
    family, kind, protocol, _, place = address
    probe = _socket.socket(family, kind, protocol)
    try:
        probe.settimeout(most_s)
        probe.connect(place)
    except OSError:
        return False
    finally:
        probe.close()
    return True


def _await_store():
    """Ranks that start at once meet at rank 0's store, which is not there yet: PyTorch's next look
    is a second later."""
    import _socket
    import time
    variable = os.environ.get
    if 'torch' not in sys.modules or not variable('GROUP_RANK') or variable('RANK') == '0':
        return
    until = time.monotonic() + _STORE_S
    try:
        port = int(variable('MASTER_PORT', ''))
        own = variable('GROUP_RANK') == '0'
        host = os.fsencode(variable('MASTER_ADDR', ''))  # of text Python imports a codec
        address = not own and _socket.getaddrinfo(host, port, 0, _socket.SOCK_STREAM)[0]
    except (OSError, ValueError):
        return
    while True:
        left_s = until - time.monotonic()
        if left_s <= 0 or (_is_listening(':%04X' % port) if own
                           else _can_connect(address, left_s)):
            return
        time.sleep(0.01)


def _prepare(channel):
    """Imports; what the rank needs of it then."""
    import time
    oom_score = _adjust_oom(1000)
    _adjust_oom(oom_score)  # whether that is allowed has to be known now
    _adjust_oom(1000)
    _capture()
    stack_hook = _take_stack_hook()
    missing = _pass_on()
    begun = time.monotonic()
    order, _ = _receive(channel)
    names, stopped, kept = _import_modules(order)
    for fd in [os.dup(0) for _ in range(_MOST_FDS)]:
        os.close(fd)  # there is room for what comes
    texts = _captured()
    _check_state()
    kept.check_inherited()
    took_ms = int(1000 * (time.monotonic() - begun))
    return oom_score, stack_hook, missing, texts, kept, (took_ms, ', '.join(names), stopped)


def _stand_by(fd, command, initial):
    import _socket
    channel = _socket.socket(fileno=fd)
    os.set_inheritable(fd, False)
    _send(channel, 'loaded')
    try:
        _leave_path(__file__.rsplit('/', 1)[0])
        oom_score, stack_hook, missing, texts, kept, told = _prepare(channel)
    except BaseException as error:
        reason = str(error) if isinstance(error, _Cannot) else '%s: %s' % (
            type(error).__name__, error)
        _send(channel, 'cannot', reason[:1000])
        os._exit(0)
    _send(channel, 'ready', _size_kb(), *told)
    (_, *edits), fds = _receive(channel)
    if len(fds) != _MOST_FDS:
        os._exit(1)  # the rank starts cold
    # From here on it is the rank.
    os.set_inheritable(fds[3], False)
    try:
        for edit in edits:
            _edit(os.environ, edit, False)
            _edit(initial, edit, True)
        reason = _become(fds, oom_score, kept)
    except Exception as error:
        reason = '%s: %s' % (type(error).__name__, error)
    if reason:
        _start_cold(channel, reason, command, initial)
    _send(channel, 'runs')
    channel.close()
    os.close(fds[3])
    _write(1, texts[0])
    _write(2, texts[1])
    if stack_hook:
        exec(stack_hook, {'__file__': stack_hook.co_filename, '__name__': 'sitecustomize'})
    _await_store()
    return missing


def _start_cold(channel, reason, command, initial):
    _send(channel, 'cold', reason)
    try:
        os.execvpe(command[0], command, initial)
    except OSError as error:
        _write(2, ('%s: %s\n' % (os.fsdecode(command[0]), error)).encode())
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


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


def _command():
    """As it was handed to this process: modules may write over it."""
    with open('/proc/self/cmdline', 'rb') as file:
        return file.read()[:-1].split(b'\0')


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
        command = _command()
    except BaseException:
        os._exit(3)
    return _stand_by(int(fd), command, initial)


_order = os.environ.pop(_VARIABLE, None)
_missing = _pass_on() if _order is None else _begin(_order)
if _missing:
    raise _missing
