#include "base/secrets/secret_shapes.h"

#include <algorithm>
#include <array>

#include "base/constants/words.h"
#include "base/secrets/secret_text.h"

namespace base {
namespace {

// Beginnings of known tokens. The array ...Least has the minimum number of characters after each
// beginning. After a beginning in kAlnum only letters and digits follow. After one in kAny, '_',
// '-' and '.' may follow too, as in paths and names.
constexpr auto kAlnum = words("LTAI", "AKIA", "ASIA", "hf_", "ghp_", "gho_", "ghs_", "ghu_", "ghr_",
                              "npm_", "gsk_", "r8_", "fw_", "sbp_", "dop_v1_", "AKID", "dapi");
constexpr std::array<unsigned char, kAlnum.size()> kAlnumLeast = {
    12, 16, 16, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 28, 28};
constexpr auto kAny =
    words("github_pat_", "dckr_pat_", "dckr_oat_", "glpat-", "gldt-", "glrt-", "xoxa-", "xoxb-",
          "xoxp-", "xoxe-", "xapp-", "wandb_v1_", "ya29.", "hvs.", "hvb.", "hvr.", "AKLT",
          "GOCSPX-", "sk_live_", "rk_live_", "shpat_", "pplx-", "xai-", "tgp_v1_", "SG.", "AIza",
          // "LS0t..." is "-----BEGIN " in base64
          "sk-", "nvapi-", "pypi-", "LS0tLS1CRUdJTi", "eyJ");
constexpr std::array<unsigned char, kAny.size()> kAnyLeast = {
    20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20,
    20, 20, 20, 20, 20, 40, 40, 40, 40, 35, 40, 40, 40, 40, 37};

bool has_shape(std::string_view word, const auto& starts, const auto& least, bool only_alnum) {
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (!word.starts_with(starts[i])) continue;
    word.remove_prefix(starts[i].size());
    return word.size() >= least[i] && (!only_alnum || std::ranges::all_of(word, is_alnum));
  }
  return false;
}

}  // namespace

bool has_known_shape(std::string_view word) {
  constexpr std::size_t kMin = 16;
  if (word.ends_with('.')) word.remove_suffix(1);  // the end of a sentence
  if (word.size() < kMin) return false;
  // A word without a dot is not a JWT.
  if (word.starts_with("eyJ") && !word.contains('.')) return false;
  return has_shape(word, kAny, kAnyLeast, false) || has_shape(word, kAlnum, kAlnumLeast, true);
}

}  // namespace base
