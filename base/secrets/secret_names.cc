#include "base/secrets/secret_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/constants/words.h"
#include "base/secrets/secret_text.h"

namespace base {
namespace {

// The parts of names that mark a credential. The table says where in the name they count, because
// "token" marks one, but "tokenizer" does not:
//  kJoined            anywhere, after underscores are removed
//  kSecrets, kHeaders anywhere
//  k...Parts          between underscores
//  k...Ends           at the end
constexpr auto kJoined =
    words("PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE", "SECRET", "CREDENTIAL", "APIKEY",
          "PRIVATEKEY", "ACCESSKEY", "CONNECTIONSTRING", "CONNSTR", "SSHPASS", "IDRSA", "IDECDSA",
          "IDED25519", "ONETIMECODE", "SEEDPHRASE", "RECOVERYPHRASE", "MNEMONIC", "RECOVERYCODE",
          "BACKUPCODE", "VERIFICATIONCODE", "SECURITYCODE", "MFACODE", "2FACODE", "IDENTIFIEDBY");
constexpr auto kSecrets =
    words("AKSK", "DOCKERCFG", "DOCKERCONFIG", "DOCKER_CONFIG_JSON", "KUBECONFIG_", "KUBE_CONFIG_");
constexpr auto kSecretParts =
    words("_AK_", "_SK_", "_PWD_", "_PW_", "_DSN_", "_JWT_", "_SAS_", "_CREDS_", "_CRED_");
constexpr auto kSecretEnds = words("_OTP", "TOTP", "CREDS", "_PEM", "_PIN");
constexpr auto kHeaders = words("COOKIE", "WEBHOOK", "SIGNATURE");
constexpr auto kParts = words("_KEY_", "_AUTH_", "_SIG_", "_BEARER_", "_PAT_", "_PEM_");
constexpr auto kEnds = words("TOKEN", "KEY", "PASS", "AUTHORIZATION");
// Suffixes that are cut off before the end of a name is compared: "TOKEN_V2", "TOKEN_B64".
constexpr auto kSuffixes =
    words("_V", "_B64", "_BASE64", "_VALUE", "_CODE", "_JSON", "_PROD", "_DEV");
// Ends of names that are not secret: words from models, data and signal processing, English words,
// and public keys.
constexpr auto kOrdinaryEnds =
    words("PAD_TOKEN", "EOS_TOKEN", "BOS_TOKEN", "UNK_TOKEN", "SEP_TOKEN", "CLS_TOKEN",
          "MASK_TOKEN", "PRIMARY_KEY", "SORT_KEY", "INPUT_KEY", "OUTPUT_KEY", "LABEL_KEY",
          "PROMPT_KEY", "MONKEY", "TURKEY", "HOTKEY", "HOT_KEY", "BYPASS", "COMPASS", "SURPASS",
          "TRESPASS", "LOWPASS", "HIGHPASS", "BANDPASS", "FORWARD_PASS", "SINGLE_PASS",
          "MULTI_PASS", "BACKWARD_PASS", "TWO_PASS", "NUM_TOKENS", "MAX_TOKENS", "MIN_TOKENS",
          "TOTAL_TOKENS", "NEW_TOKENS", "SPECIAL_TOKENS", "PUBLIC_KEY", "_PUB", "CPU_PIN",
          "GPIO_PIN", "IB_PKEY", "KUBECONFIG_PATH", "KUBECONFIG_FILE", "KUBE_CONFIG_PATH");
constexpr auto kOrdinaryParts =
    words("KEY_VALUE", "KEY_PADDING", "KEY_DIM", "KEY_SIZE", "KEY_LEN", "KEY_FRAME", "KEY_TYPE");

// Returns the set of characters of a name as bits. A row of a table with a character that the name
// lacks cannot match; comparing bits is faster than searching the row.
constexpr std::uint32_t characters_of(std::string_view name) {
  std::uint32_t all = 0;
  for (const char c : name) all |= 1U << (static_cast<unsigned char>(c) & 31U);
  return all;
}

template <std::size_t kCount>
consteval std::array<std::uint32_t, kCount> characters_of_rows(const auto& table) {
  std::array<std::uint32_t, kCount> all{};
  for (std::size_t i = 0; i < kCount; ++i) all.at(i) = characters_of(table[i]);
  return all;
}

// A name to look up in a table, with the set of its characters.
struct Name {
  std::string_view text;
  std::uint32_t characters = characters_of(text);
};

template <const auto& kTable>
bool any_row(const Name& name, auto matches) {
  static constexpr auto kCharacters = characters_of_rows<kTable.size()>(kTable);
  for (std::size_t i = 0; i < kCharacters.size(); ++i) {
    if ((kCharacters[i] & ~name.characters) == 0 && matches(kTable[i])) return true;
  }
  return false;
}

template <const auto& kTable>
bool contains_any(const Name& name) {
  return any_row<kTable>(name, [&](std::string_view row) { return name.text.contains(row); });
}

template <const auto& kTable>
bool ends_with_any(const Name& name) {
  return any_row<kTable>(name, [&](std::string_view row) { return name.text.ends_with(row); });
}

// Returns the name without version numbers and suffixes: "TOKEN_1" and "TOKEN_V2" become "TOKEN".
std::string_view without_suffixes(std::string_view name) {
  while (true) {
    const std::size_t before = name.size();
    for (const std::string_view suffix : kSuffixes) {
      if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
    }
    name = name.substr(0, name.find_last_not_of("0123456789_") + 1);
    if (name.size() == before) return name;
  }
}

}  // namespace

NameKind kind_of_name(std::string_view name) {
  if (std::ranges::none_of(name, is_letter)) return NameKind::kOrdinary;
  const std::string upper = "_" + canonical(name);
  // the working directory, no password
  if (upper == "_PWD" || upper == "_OLDPWD") return NameKind::kOrdinary;
  const Name whole = {upper};
  const Name stem = {without_suffixes(upper), whole.characters};
  if (ends_with_any<kOrdinaryEnds>(whole)) return NameKind::kOrdinary;
  std::string joined = upper;
  std::erase(joined, '_');
  if (contains_any<kJoined>({joined, whole.characters}) || contains_any<kSecrets>(whole)) {
    return NameKind::kSecret;
  }
  if (contains_any<kHeaders>(whole)) return NameKind::kWord;
  if (ends_with_any<kOrdinaryEnds>(stem) || contains_any<kOrdinaryParts>(whole)) {
    return NameKind::kOrdinary;
  }
  if (stem.text.ends_with("TOKENS")) return NameKind::kCounted;
  const std::string parts = std::string(stem.text) + "_";
  const Name framed = {parts, whole.characters};
  if (contains_any<kSecretParts>(framed) || ends_with_any<kSecretEnds>(stem)) {
    return NameKind::kSecret;
  }
  // PASS between underscores is a password ("DB_PASS_2"). At the beginning it is a rate or
  // something that is passed through.
  const std::size_t pass = upper.find("_PASS_");
  const bool is_word = contains_any<kParts>(framed) || ends_with_any<kEnds>(stem) ||
                       (pass != std::string::npos && pass > 0);
  return is_word ? NameKind::kWord : NameKind::kOrdinary;
}

}  // namespace base
