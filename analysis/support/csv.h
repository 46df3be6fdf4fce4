#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// `text` as a cell of a CSV row (RFC 4180): quoted where it holds a comma, a quote or a line
/// break.
std::string csvCell(std::string_view text);

/// The cells as a row with its line end; not for cells that are quoted already.
std::string csvRow(const std::vector<std::string> &cells);

} // namespace tilewright
