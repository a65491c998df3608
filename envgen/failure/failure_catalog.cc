#include "envgen/failure/failure_catalog.h"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include "base/fields.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/text.h"
#include "envgen/failure/shipped_failures.h"

namespace envgen {
namespace {

constexpr std::size_t kMaxPatterns = 4000;
constexpr std::size_t kMinPatternBytes = 3;
constexpr std::size_t kMaxAdviceBytes = 300;
constexpr int kVictimWeight = 3;
constexpr std::size_t kGrams = 4096;
constexpr std::array<std::string_view, 3> kRoles = {"root", "victim", "noise"};
constexpr std::array<std::string_view, 3> kRestarts = {"unknown", "yes", "no"};

std::uint16_t gram(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const auto second = static_cast<unsigned char>(text[at + 1]);
  return static_cast<std::uint16_t>((first * 67U + second) % kGrams);
}

// Returns the first position of `piece` in `text` at or after `from`. memmem takes linear time for
// any input.
std::size_t find_piece(std::string_view text, std::string_view piece, std::size_t from) {
  const void* found = ::memmem(text.data() + from, text.size() - from, piece.data(), piece.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

// A row of the catalogue as it is written in a file.
struct RowText {
  std::string id, failure_class, advice;
  FailureRole role = FailureRole::kRoot;
  RestartHelps restart = RestartHelps::kUnknown;
  std::optional<int> weight, exit_code;
  bool ends = false;
  std::string at;
  std::vector<std::string> match, by;
};
void fields(base::FieldVisitor& v, RowText& row) {
  v("id", row.id);
  v("class", row.failure_class);
  v("role", row.role, kRoles);
  v("restart", row.restart, kRestarts);
  v("weight", row.weight, {.least = 0, .most = 9, .omit = true});
  v("at", row.at, {.omit = true});
  v("ends", row.ends, {.omit = true});
  v("exit", row.exit_code, {.least = 0, .most = 255, .omit = true});
  v("by", row.by, {.omit = true});
  v("match", row.match);
  v("advice", row.advice);
}

constexpr std::string_view kReading = "reading a catalogue of failures";
constexpr std::string_view kFix =
    "write {\"failures\": [{\"id\", \"class\", \"role\": root|victim|noise, \"restart\": "
    "unknown|yes|no, \"match\": [\"text*text\"], \"advice\"}]}; see docs/observing.md";

}  // namespace

std::string_view role_name(FailureRole role) { return kRoles.at(static_cast<std::size_t>(role)); }

std::string_view restart_name(RestartHelps restart) {
  return kRestarts.at(static_cast<std::size_t>(restart));
}

FailureCatalog FailureCatalog::shipped() {
  std::string text;
  for (const char c : kShippedFailures) {
    const auto* byte = std::ranges::find(kShortened, c, [](const auto& one) { return one.first; });
    if (byte == kShortened.end()) {
      text += c;
    } else {
      text += byte->second;
    }
  }
  FailureCatalog catalog;
  catalog.add_rows(text, "failures.json", false);  // errors are ignored, because a test checks that
                                                   // there are none
  return catalog;
}

std::vector<base::Error> FailureCatalog::add(std::string_view json, std::string_view where) {
  return add_rows(json, where, true);
}

std::vector<base::Error> FailureCatalog::add_rows(std::string_view json, std::string_view where,
                                                  bool added) {
  const auto document = base::json::Document::parse(json, where);
  if (!document) return {document.error().error};
  const auto list = document->root().find("failures");
  if (!list || !list->is(base::json::Type::kArray)) {
    return {base::Error{std::string(kReading), std::string(where), "no list \"failures\"",
                        std::string(kFix)}};
  }
  std::vector<base::Error> errors;
  std::size_t number = 0;
  for (const base::json::Value value : *list) {
    const std::string place = std::string(where) + ", row " + std::to_string(++number);
    auto refuse = [&](std::string found) {
      errors.push_back({std::string(kReading), place, std::move(found), std::string(kFix)});
    };
    if (rows_.size() == kMaxRows) {
      refuse("more than " + std::to_string(kMaxRows) + " rows");
      break;
    }
    RowText text;
    base::JsonIn in(value);
    fields(in, text);
    if (auto status = in.finish(kReading, place, kFix); !status) {
      errors.push_back(status.error());
      continue;
    }
    const bool victim = text.role == FailureRole::kVictim;
    FailureRow row{.id = text.id,
                   .failure_class = text.failure_class,
                   .role = text.role,
                   .restart = text.restart,
                   .advice = text.advice.substr(0, kMaxAdviceBytes),
                   .weight = text.weight.value_or(victim ? kVictimWeight : FailureRow{}.weight),
                   .only_exceptions = text.at == "exception",
                   .added = added,
                   .ends = text.ends,
                   .exit_code = text.exit_code.value_or(-1),
                   .by = std::move(text.by)};
    rows_.push_back(std::move(row));
    for (const std::string& pattern : text.match) {
      if (auto status = add_pattern(pattern, rows_.size() - 1, place); !status) {
        errors.push_back(status.error());
      }
    }
  }
  return errors;
}

base::Status FailureCatalog::add_pattern(std::string_view text, std::size_t row,
                                         std::string_view where) {
  Pattern pattern{.row = row, .at_start = text.starts_with('^'), .at_end = text.ends_with('$')};
  const std::string said = base::quoted(text);
  if (pattern.at_start) text.remove_prefix(1);
  if (pattern.at_end && !text.empty()) text.remove_suffix(1);
  std::string_view longest;
  for (const std::string_view piece : base::split(text, '*')) {
    if (piece.empty()) continue;
    pattern.pieces.emplace_back(piece);
    if (piece.size() > longest.size()) longest = piece;
  }
  if (longest.size() < kMinPatternBytes || patterns_.size() == kMaxPatterns) {
    return base::fail(kReading, std::string(where),
                      "the pattern " + said + ", which is too short or one too many",
                      "give a text that only this failure prints");
  }
  pattern.grams = {gram(longest, 0), gram(longest, longest.size() - 2)};
  patterns_.push_back(std::move(pattern));
  return {};
}

FailureCatalog::Match FailureCatalog::match(std::string_view text, bool exception) const {
  // The letter pairs of the line, so that patterns with other pairs are skipped.
  std::bitset<kGrams> grams;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) grams.set(gram(text, i));
  Match best;
  for (const Pattern& pattern : patterns_) {
    if (!grams[pattern.grams[0]] || !grams[pattern.grams[1]]) continue;
    const FailureRow& row = rows_[pattern.row];
    if (row.only_exceptions && !exception) continue;
    auto rank = [](const FailureRow& of) {
      return std::tuple(of.added, of.role == FailureRole::kNoise, of.weight);
    };
    if (best.row != nullptr && rank(row) <= rank(*best.row)) continue;
    std::size_t first = std::string_view::npos;
    std::size_t from = 0;
    for (const std::string& piece : pattern.pieces) {
      const std::size_t at = find_piece(text, piece, from);
      if (at == std::string_view::npos) {
        from = at;
        break;
      }
      if (first == std::string_view::npos) first = at;
      from = at + piece.size();
    }
    if (from == std::string_view::npos) continue;
    if (pattern.at_start && first != 0) continue;
    if (pattern.at_end && !text.ends_with(pattern.pieces.back())) continue;
    best = {.row = &row, .at = first};
  }
  return best;
}

}  // namespace envgen
