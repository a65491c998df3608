#include "init/sys/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace sys {

bool is_screen() {
  const char* terminal = ::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 &&
         (terminal == nullptr || terminal != std::string_view("dumb"));
}

int screen_columns() {
  constexpr int kUsual = 80;
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

}  // namespace sys
