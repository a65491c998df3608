#include "base/secrets/secret_addresses.h"

#include <algorithm>
#include <array>

#include "base/constants/words.h"
#include "base/secrets/secret_text.h"

namespace base {
namespace {

constexpr std::string_view kAddressEnds = " \t\n\"'`<>|;,)";

// Beginnings of webhook addresses: Slack, Feishu and Lark, Discord, Teams, Telegram. The text after
// the beginning is a credential: any program that has it can send messages.
constexpr auto kHooks = words("hooks.slack.com/", "/open-apis/bot/v2/hook/", "/open-apis/bot/hook/",
                              "discord.com/api/webhooks/", "discordapp.com/api/webhooks/",
                              "webhook.office.com/webhookb2/", "api.telegram.org/bot");

// Returns the length of "/t/TOKEN", the token in "https://conda.anaconda.org/t/TOKEN/channel", or 0
// if `path` does not begin with it.
std::size_t token_in_path(std::string_view path) {
  if (!path.starts_with("/t/")) return 0;
  const std::size_t end = path.find_first_of("/ \t\n\"'?#", 3);
  return end == std::string_view::npos ? path.size() : end;
}

// Returns the end of the authority ("user:password@host:port") that begins at `start`. It usually
// ends at a '/', a blank or a similar character. But if the text after the first ':' is not a port
// number, it is a password, which can contain those characters. In that case the end is searched
// from the last '@' of the word.
std::size_t authority_end(std::string_view text, std::size_t start) {
  const std::size_t end = std::min(text.find_first_of("/ \t\n\"'?#", start), text.size());
  const std::string_view authority = text.substr(start, end - start);
  const std::size_t colon = authority.find(':');
  if (authority.contains('@') || colon == std::string_view::npos || authority.starts_with('[')) {
    return end;
  }
  const std::string_view port = authority.substr(colon + 1);
  if (std::ranges::all_of(port, is_digit)) return end;
  const std::size_t blank = std::min(text.find_first_of(" \t\n\"'", start), text.size());
  const std::size_t at = text.substr(0, blank).rfind('@');
  if (at == std::string_view::npos || at < start) return end;
  return std::min(text.find_first_of("/ \t\n\"'?#", at), text.size());
}

std::string mask_hooks(std::string_view text) {
  std::string result;
  while (true) {
    std::size_t at = std::string_view::npos;
    for (const std::string_view hook : kHooks) {
      const std::size_t found = text.find(hook);
      if (found != std::string_view::npos) at = std::min(at, found + hook.size());
    }
    if (at == std::string_view::npos) return result.append(text);
    result += text.substr(0, at);
    const std::size_t end = std::min(text.find_first_of(kAddressEnds, at), text.size());
    if (end > at) result += kMask;
    text.remove_prefix(end);
  }
}

// Returns true if `text` begins with a host name or an address, and not with a version ("1.2"), a
// digest or a package of Hydra.
bool is_host(std::string_view text) {
  if (text.starts_with('[')) return true;
  const std::string_view host = text.substr(0, after(text, 0,
                                                     "0123456789.abcdefghijklmnopqrstuvwxyz"
                                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"));
  if (host.empty() || !is_alnum(host[0]) || host.starts_with("sha256") ||
      host.starts_with("sha512")) {
    return false;
  }
  return std::ranges::any_of(host, is_letter) || std::ranges::count(host, '.') == 3;
}

// Returns where "user" begins in "user:password@host". The word begins at `begin`, and its '@' is
// at `at`. Returns `at` if the word has another form.
std::size_t user_in(std::string_view text, std::size_t begin, std::size_t at) {
  const std::size_t colon = text.substr(0, at).find(':', begin);
  if (colon == std::string_view::npos) return at;
  std::size_t user = colon;
  while (user > begin && (is_word(text[user - 1]) || text[user - 1] == '%')) --user;
  const std::string_view name = text.substr(user, colon - user);
  const std::string_view password = text.substr(colon + 1, at - colon - 1);
  const bool stated = user == begin || text[user - 1] == '=' || text[user - 1] == '(';
  if (name.empty() || name == "mailto" || password.empty() || !stated) return at;
  const std::string_view host = text.substr(at + 1);
  if (!is_host(host)) return at;
  // A number is no password: "node1:8@rack2" is not masked, except with a port: "me:8@host:22".
  const std::size_t host_end = std::min(host.find_first_of(" \t\n\"'/,;:)"), host.size());
  const bool port =
      host_end + 1 < host.size() && host[host_end] == ':' && is_digit(host[host_end + 1]);
  return port || !std::ranges::all_of(password, is_digit) ? user : at;
}

std::string mask_plain(std::string_view text) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) {
    const std::size_t before = text.substr(0, at).find_last_of(" \t\n\"'`<>|;,/");
    const std::size_t begin = std::max(done, before == std::string_view::npos ? 0 : before + 1);
    // A word after '/' is not a user, but a part of an address's path.
    const bool in_path = begin > 0 && text[begin - 1] == '/';
    const std::size_t user = in_path ? at : user_in(text, begin, at);
    if (user == at) continue;
    result.append(text.substr(done, user - done)).append(kMask);
    done = at;
  }
  return result.append(text.substr(done));
}

}  // namespace

std::string mask_url_credentials(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t scheme = text.find("://");
    if (scheme == std::string_view::npos) return result.append(text);
    const std::size_t start = scheme + 3;
    const std::size_t end = authority_end(text, start);
    const std::string_view authority = text.substr(start, end - start);
    const std::size_t at = authority.rfind('@');
    result += text.substr(0, start);
    if (at != std::string_view::npos) result += kMask;
    result += at == std::string_view::npos ? authority : authority.substr(at);
    text.remove_prefix(end);
    if (const std::size_t token = token_in_path(text); token > 0) {
      result.append("/t/").append(kMask);
      text.remove_prefix(token);
    }
  }
}

std::string mask_addresses(std::string_view text) {
  return mask_plain(mask_hooks(mask_url_credentials(text)));
}

}  // namespace base
