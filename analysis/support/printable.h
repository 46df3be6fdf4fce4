// Text from users' files as a terminal may have it. Names, cells and strings can hold anything:
// escape sequences that recolour or retitle a terminal, marks that reorder what is read, bytes that
// are no UTF-8, five megabytes. Only the standard library is used.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilewright {

/// Bytes of the character that starts at `at`: 1 to 4, or 0 where no valid UTF-8 character starts.
size_t characterBytes(std::string_view text, size_t at);

/// `text` with what is not for printing spelt out: control characters, marks of text direction and
/// bytes that are no UTF-8 become "\x1b" and the like. Line ends and tabs stay where `isText`.
std::string printable(std::string_view text, bool isText = false);

/// The same for a source line, where columns count: each such character becomes one '?'.
std::string printableLine(std::string_view text);

/// At most `most` characters, the last of them `mark` where something was cut off.
std::string clipped(std::string_view text, size_t most, std::string_view mark = "~");

/// The start of a text that a message or a page quotes, with "…" where something was cut off.
std::string excerpt(std::string_view text, size_t most = 40);

/// At most about `most` bytes: of a longer text the beginning and the end, never part of a
/// character, and between them how long it was: "aaaa…(5,000,000 bytes)…aaaa".
std::string shortened(std::string_view text, size_t most);

/// A message made of words and of names from files: printable, each name and the whole shortened.
std::string printableMessage(std::string_view text);

} // namespace tilewright
