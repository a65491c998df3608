#pragma once
// The text of failures.json as a constant of the program. The build removes its blanks, and
// replaces each text in kShortened by one byte.

#include <array>
#include <string_view>
#include <utility>

namespace envgen {

extern const std::string_view kShippedFailures;

// Texts that occur often, with the bytes that CMakeLists.txt writes instead.
inline constexpr auto kShortened = std::to_array<std::pair<char, std::string_view>>({
    {'\1', R"(","class":")"},
    {'\2', R"(,"match":[")"},
    {'|', R"(","role":"root","restart":"unknown")"},
    {'&', R"("],"advice":")"},
    {'?', R"("},{"id":")"},
    {'%', R"(",")"},
});

}  // namespace envgen
