#include "base/secrets/secret_names.h"

#include <algorithm>
#include <array>

#include "base/constants/words.h"
#include "base/secrets/secret_text.h"

namespace envgen {
namespace {

// Anywhere in a name.
bool has_mark(const std::string& upper) {
  static constexpr auto kMarks =
      words("PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE", "SECRET", "CREDENTIAL", "API_KEY",
            "APIKEY", "COOKIE", "WEBHOOK", "AKSK", "PRIVATE_KEY", "ACCESS_KEY", "ACCESSKEY",
            "CONNECTION_STRING", "SIGNATURE", "SSHPASS", "CONN_STR", "DOCKERCFG", "DOCKERCONFIG",
            "ID_RSA", "ID_ECDSA", "DOCKER_CONFIG_JSON", "ID_ED25519");
  return std::ranges::any_of(kMarks, [&](std::string_view mark) { return upper.contains(mark); });
}

// Words of models, data and signal processing, of keys that are shown, and of English, that end as
// secrets do.
bool is_ordinary(const std::string& upper) {
  static constexpr auto kEnds = words(
      "PAD_TOKEN", "EOS_TOKEN", "BOS_TOKEN", "UNK_TOKEN", "SEP_TOKEN", "CLS_TOKEN", "MASK_TOKEN",
      "PRIMARY_KEY", "SORT_KEY", "INPUT_KEY", "OUTPUT_KEY", "LABEL_KEY", "PROMPT_KEY", "MONKEY",
      "TURKEY", "HOTKEY", "BYPASS", "COMPASS", "SURPASS", "TRESPASS", "LOWPASS", "HIGHPASS",
      "BANDPASS", "FORWARD_PASS", "SINGLE_PASS", "MULTI_PASS", "BACKWARD_PASS", "TWO_PASS");
  static constexpr auto kAnywhere =
      words("KEY_VALUE", "KEY_PADDING", "KEY_DIM", "KEY_SIZE", "KEY_LEN", "KEY_FRAME", "KEY_TYPE");
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return upper.ends_with(end); }) ||
         std::ranges::any_of(kAnywhere,
                             [&](std::string_view part) { return upper.contains(part); });
}

// Too short to look for inside other words: a part between underscores. AK and SK are Huawei's.
bool has_part(const std::string& upper) {
  static constexpr auto kParts =
      words("_AK_", "_SK_", "_PWD_", "_PW_", "_PAT_", "_KEY_", "_AUTH_", "_DSN_", "_JWT_", "_SIG_",
            "_SAS_", "_BEARER_", "_CREDS_", "_CRED_");
  const std::string framed = "_" + upper + "_";
  // Behind something: "DB_PASS_2"; not a rate, or what is passed through.
  if (upper.contains("_PASS_")) return true;
  return std::ranges::any_of(kParts,
                             [&framed](std::string_view part) { return framed.contains(part); });
}

}  // namespace

bool is_secret_name(std::string_view name) {
  std::string upper = canonical(name);
  if (upper == "PWD" || upper == "OLDPWD") return false;  // the working directory
  if (upper.ends_with("_PUB") || upper.ends_with("PUBLIC_KEY")) return false;
  if (has_mark(upper)) return true;
  // "TOKEN_1"
  upper.erase(upper.find_last_not_of("0123456789") + 1);
  if (upper.ends_with('_')) upper.pop_back();
  if (is_ordinary(upper)) return false;
  // At the end only: tokenizers and numbers of tokens are no secrets, nor are keyboards.
  static constexpr auto kEnds = words("TOKEN", "KEY", "PASS", "CREDS", "AUTHORIZATION");
  auto ends = [&upper](std::string_view end) { return upper.ends_with(end); };
  return std::ranges::any_of(kEnds, ends) || has_part(upper);
}

}  // namespace envgen
