// How the program talks on a terminal: colours, progress, notes. What a result says depends on
// none of this.
#pragma once

#include "analysis/support/printable.h"

#include <cstdio>
#include <fmt/format.h>
#include <string>

namespace tilewright::cli {

/// What --quiet, --verbose and --color ask for.
struct Voice {
  bool isQuiet = false;   ///< neither progress nor notes on stderr
  bool isVerbose = false; ///< stderr says what is read, and how long it takes
  std::string color = "auto";
};

/// Of this process; main() sets it.
Voice &voice();

/// Whether text for that stream has colours: as --color says, else on a terminal, unless NO_COLOR
/// (no-color.org) is set or the terminal knows none.
bool isColoured(std::FILE *stream);

/// Text for that stream, with "error:", "warning:" and "note:" at the beginning of lines, answers
/// and verdicts in colour where it has colours.
std::string coloured(std::string text, std::FILE *stream);

/// Prints "note: …" on stderr, unless --quiet.
void writeNote(const std::string &text);
template <typename... Args> void note(fmt::format_string<Args...> format, Args &&...args) {
  writeNote(fmt::format(format, std::forward<Args>(args)...));
}

/// Prints a line on stderr with --verbose.
void writeDetail(const std::string &text);
template <typename... Args> void detail(fmt::format_string<Args...> format, Args &&...args) {
  if (voice().isVerbose)
    writeDetail(fmt::format(format, std::forward<Args>(args)...));
}

/// Seconds of a clock that only goes forward.
double secondsNow();

/// Where a piece of work stands in a longer one: the ends of its share of the whole, and when the
/// whole began.
struct ProgressShare {
  double from = 0, to = 1;
  double startedAt = secondsNow();
};

/// "explored kernels 13/83, 40 s left"; the rest is told from the third second on, where enough is
/// done to say something. `share` is what is done of the whole in `seconds`. Where nobody knows how
/// many there are, `total` is 0: "explored kernels 13".
std::string progressLine(const std::string &what, size_t done, size_t total, double share,
                         double seconds);

/// A progress line on stderr that overwrites itself; silent with --quiet and where stderr is no
/// terminal.
class Progress {
public:
  explicit Progress(std::string what, ProgressShare share = {});
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  /// May be called from any thread, but not from two at once.
  void update(size_t done, size_t total);

private:
  std::string what;
  ProgressShare share;
  bool isEnabled, isShown = false;
  double startedAt;
};

} // namespace tilewright::cli
