#include "envgen/failure/python_hook.h"

#include "base/text.h"

namespace envgen {
namespace {

// The sitecustomize.py for Python 3.6 and later; features that an older version lacks are skipped.
// Its last import loads the user's own sitecustomize. An exception in that reaches Python's site as
// if this file did not exist. The descriptor has a high number, so that no program closes or
// expects it.
constexpr std::string_view kHook =
    R"(# Made by trainit: this process writes its stacks when it is asked (trainit stacks).
import sys


def _register():
    import atexit
    import faulthandler
    import os

    signal = %SIGNAL%
    with open('/proc/self/status') as status:
        caught = [line.split()[1] for line in status if line.startswith('SigCgt:')]
    if int(caught[0], 16) >> (signal - 1) & 1:
        return
    pid = os.getpid()
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(os.path.dirname(here), 'dumps', str(pid))
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, 0o600)
    try:
        import fcntl
        high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 900)
        os.close(fd)
        fd = high
    except (ImportError, OSError, AttributeError):
        pass
    rank = ''
    for name in ('RANK', 'OMPI_COMM_WORLD_RANK', 'PMI_RANK', 'RANK_ID', 'SLURM_PROCID'):
        rank = os.environ.get(name, '')
        if rank.isdigit():
            break
    header = 'trainit signal %d fd %d rank %s\n' % (signal, fd, rank if rank.isdigit() else '-1')
    os.write(fd, header.encode())
    faulthandler.register(signal, file=fd, all_threads=True, chain=False)

    def remove():
        if os.getpid() == pid:
            try:
                os.unlink(path)
            except OSError:
                pass

    atexit.register(remove)


try:
    _register()
except Exception:
    pass

# From here on as if this file were not there.
_here = __file__.rsplit('/', 1)[0]
sys.path[:] = [entry for entry in sys.path if entry != _here]
sys.path_importer_cache.pop(_here, None)
sys.modules.pop('sitecustomize', None)
import sitecustomize
)";

}  // namespace

std::string python_hook() {
  constexpr std::string_view kMark = "%SIGNAL%";
  std::string text(kHook);
  text.replace(text.find(kMark), kMark.size(), std::to_string(kStackSignal));
  return text;
}

DumpHeader parse_dump_header(std::string_view text) {
  std::string_view line = base::take_line(text);
  DumpHeader header;
  const auto is = [&line](std::string_view word) { return base::take_word(line) == word; };
  const auto number = [&line] { return base::parse_number<int>(base::take_word(line)); };
  if (!is("trainit") || !is("signal")) return {};
  const auto signal = number();
  if (!signal || !is("fd")) return {};
  const auto fd = number();
  if (!fd || !is("rank")) return {};
  const auto rank = number();
  if (!rank || *signal != kStackSignal || *fd < 0 || *rank < -1) return {};
  header = {.signal = *signal, .fd = *fd, .rank = *rank};
  return header;
}

}  // namespace envgen
