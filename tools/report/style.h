// The report's style sheet and script, as they stand in the page.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::report {

std::string_view styleSheet();
/// Search, sorting, rows on demand, neighbours in graphs; the page is complete without it.
std::string_view script();

/// "sha256-…" in base64, as a Content-Security-Policy names an inline script or style sheet.
std::string contentHash(std::string_view text);

} // namespace tilewright::report
