#include "tools/tilewright/terminal.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tilewright::cli {

Voice &voice() {
  static Voice instance;
  return instance;
}

double secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool isColoured(std::FILE *stream) {
  if (voice().color != "auto")
    return voice().color == "always";
  const char *none = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  return (!none || !*none) && terminal && std::string_view(terminal) != "dumb" &&
         isatty(fileno(stream)) != 0;
}

namespace {

constexpr const char *red = "\033[1;31m", *green = "\033[1;32m", *yellow = "\033[1;33m",
                     *cyan = "\033[1;36m", *plain = "\033[0m";

struct Paint {
  std::string_view word;
  const char *colour;
};

std::string painted(std::string_view line, size_t at, size_t size, const char *colour) {
  return fmt::format("{}{}{}{}{}", line.substr(0, at), colour, line.substr(at, size), plain,
                     line.substr(at + size));
}

/// "error:" and its like at the beginning of a line, or of an error behind its place.
std::string withLabel(std::string_view line) {
  constexpr std::array labels = {Paint{"error:", red}, Paint{"warning:", yellow},
                                 Paint{"note:", cyan}};
  const size_t first = line.find_first_not_of(' ');
  if (first == std::string_view::npos)
    return std::string(line);
  for (const auto &[word, colour] : labels)
    if (line.substr(first).starts_with(word))
      return painted(line, first, word.size(), colour);
  if (size_t at = line.find(": error: "); at != std::string_view::npos)
    return painted(line, at + 2, labels[0].word.size(), red);
  if (line.substr(first) == "^")
    return painted(line, first, 1, green);
  return std::string(line);
}

/// The answer of tile, and the verdicts of check: the second word of their lines.
std::string withVerdict(std::string_view line) {
  constexpr std::array verdicts = {Paint{"yes", green}, Paint{"no", red}, Paint{"pass", green},
                                   Paint{"fail", red}};
  const size_t gap = line.find(' ');
  const size_t at = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  if (at == std::string_view::npos)
    return std::string(line);
  const std::string_view word = line.substr(at, line.find_first_of(" ,", at) - at);
  const bool isAnswer = line.starts_with("feasible ");
  for (const auto &[verdict, colour] : verdicts)
    if (word == verdict && isAnswer == (verdict.size() < 4))
      return painted(line, at, word.size(), colour);
  return std::string(line);
}

} // namespace

std::string coloured(std::string text, std::FILE *stream) {
  if (!isColoured(stream))
    return text;
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    const std::string line = withLabel(rest.substr(0, end));
    out += line.find('\033') == std::string::npos ? withVerdict(line) : line;
    if (end == std::string_view::npos)
      break;
    out += '\n';
    rest.remove_prefix(end + 1);
  }
  return out;
}

void writeNote(const std::string &text) {
  if (!voice().isQuiet)
    std::fputs(coloured("note: " + printableMessage(text) + "\n", stderr).c_str(), stderr);
}

void writeDetail(const std::string &text) {
  std::fputs((printableMessage(text) + "\n").c_str(), stderr);
}

namespace {

std::string durationText(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole < 120)
    return fmt::format("{} s", whole);
  if (whole < 7200)
    return fmt::format("{} min", (whole + 59) / 60);
  return fmt::format("{} h", (whole + 3599) / 3600);
}

} // namespace

std::string progressLine(const std::string &what, size_t done, size_t total, double share,
                         double seconds) {
  constexpr double enough = 0.01, soon = 3;
  if (total == 0)
    return fmt::format("{} {}", what, done);
  std::string line = fmt::format("{} {}/{}", what, done, total);
  if (seconds >= soon && share >= enough)
    line += fmt::format(", {} left", durationText(seconds * (1 - share) / share));
  return line;
}

namespace {

/// Of the terminal: a longer line could not be overwritten.
size_t terminalColumns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

} // namespace

Progress::Progress(std::string what, ProgressShare share)
    : what(printableLine(what)), share(share),
      isEnabled(!voice().isQuiet && isatty(STDERR_FILENO) != 0), startedAt(secondsNow()) {}

void Progress::update(size_t done, size_t total) {
  const double now = secondsNow();
  if (!isEnabled || now - startedAt < 1)
    return;
  const double part = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
  const std::string line = progressLine(
      what, done, total, share.from + (share.to - share.from) * part, now - share.startedAt);
  std::fprintf(stderr, "\r%s\033[K", clipped(line, terminalColumns() - 1).c_str());
  std::fflush(stderr);
  isShown = true;
}

Progress::~Progress() {
  if (isShown)
    std::fprintf(stderr, "\r\033[K");
}

} // namespace tilewright::cli
