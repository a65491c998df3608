#pragma once
// The text of failures.json, which the build puts into the program: without blanks, and with one
// byte for each text in kShortened.

#include <array>
#include <string_view>
#include <utility>

namespace envgen {

extern const std::string_view kShippedFailures;

// CMakeLists.txt replaces the texts by these bytes.
inline constexpr auto kShortened = std::to_array<std::pair<char, std::string_view>>({
    {'\1', R"(","class":")"},
    {'\2', R"(,"match":[")"},
    {'|', R"(","role":"root","restart":"unknown")"},
    {'&', R"("],"advice":")"},
    {'?', R"("},{"id":")"},
    {'%', R"(",")"},
});

}  // namespace envgen
