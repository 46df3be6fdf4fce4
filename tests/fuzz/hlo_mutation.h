// HLO text with a few things changed at random: what a reader of files must survive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::test {

/// One to three changes of `text`, the same for the same seed everywhere: bytes and tokens
/// replaced, dropped, repeated or swapped with others of the text, numbers made extreme, opcodes
/// and types turned into others, lines taken from `others`.
std::string mutatedHlo(const std::string &text, const std::vector<std::string> &others,
                       uint64_t seed);

} // namespace tilewright::test
