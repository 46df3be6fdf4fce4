#include "tools/report/text.h"

#include "analysis/support/printable.h"

#include <array>
#include <cmath>
#include <cstdlib>

namespace tilewright::report {

namespace {
constexpr std::string_view missing = "–";

bool isControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// Of a number without sign and fraction.
std::string groupThousands(std::string digits) {
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

bool isKnown(Quantity value) { return value && std::isfinite(*value); }
} // namespace

std::string escapeHtml(std::string_view text, size_t maxLength) {
  std::string out;
  for (char c : excerpt(text, maxLength)) {
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    case '\'':
      out += "&#39;";
      break;
    default:
      if (isControl(c))
        out += "�";
      else
        out += c;
    }
  }
  return out;
}

std::string escapeMarkdown(std::string_view text, size_t maxLength) {
  std::string out;
  for (char c : excerpt(text, maxLength)) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (isControl(c))
      out += ' ';
    else if (std::string_view("\\`*_[]|~#$@!").find(c) != std::string_view::npos)
      (out += '\\') += c;
    else
      out += c;
  }
  return out;
}

std::string threeDigits(Quantity value) {
  if (!isKnown(value))
    return std::string(missing);
  if (*value == 0)
    return "0";
  if (*value < 0)
    return "−" + threeDigits(-*value);
  // Rounding first, through the scientific form, so that 9.996 becomes 10.0 and not 10.00.
  std::string scientific = fmt::format("{:.2e}", *value);
  size_t mark = scientific.find('e');
  int exponent = std::atoi(scientific.c_str() + mark + 1);
  if (exponent < -3 || exponent > 8)
    return fmt::format("{}e{}", scientific.substr(0, mark), exponent);
  double rounded = std::strtod(scientific.c_str(), nullptr);
  std::string text = fmt::format("{:.{}f}", rounded, std::max(0, 2 - exponent));
  return exponent >= 4 ? groupThousands(std::move(text)) : text;
}

std::string powerOfTen(double value) {
  std::string text = threeDigits(value);
  if (text.find('.') != std::string::npos && text.find('e') == std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.'))
      text.pop_back();
  }
  return text;
}

std::string percent(Quantity fraction) {
  return threeDigits(fraction ? Quantity(*fraction * 100) : std::nullopt);
}

std::string count(Quantity value) {
  if (!isKnown(value) || *value < 0 || *value > 1e15)
    return threeDigits(value);
  return groupThousands(fmt::format("{:.0f}", *value));
}

std::string counted(size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", count(static_cast<double>(number)), noun, number == 1 ? "" : "s");
}

TimeUnit timeUnitFor(double largestNs) {
  if (largestNs >= 1e9)
    return {"s", 1e9};
  if (largestNs >= 1e6)
    return {"ms", 1e6};
  if (largestNs >= 1e3)
    return {"µs", 1e3};
  return {"ns", 1};
}

std::string inUnit(Quantity ns, TimeUnit unit) {
  return threeDigits(ns ? Quantity(*ns / unit.ns) : std::nullopt);
}

std::string timeText(Quantity ns) {
  if (!isKnown(ns))
    return std::string(missing);
  TimeUnit unit = timeUnitFor(*ns);
  return fmt::format("{} {}", inUnit(ns, unit), unit.name);
}

std::string bytesText(Quantity bytes) {
  if (!isKnown(bytes))
    return std::string(missing);
  constexpr std::array<std::string_view, 6> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = *bytes;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit)
    value /= 1024;
  return fmt::format("{} {}", unit == 0 ? count(value) : threeDigits(value), units[unit]);
}

std::string rateText(Quantity value, std::string_view unit) {
  if (!isKnown(value))
    return std::string(missing);
  constexpr std::array<std::string_view, 7> prefixes = {"", "k", "M", "G", "T", "P", "E"};
  double scaled = *value;
  size_t prefix = 0;
  for (; scaled >= 999.5 && prefix + 1 < prefixes.size(); ++prefix)
    scaled /= 1000;
  std::string suffix = fmt::format("{}{}", prefixes[prefix], unit);
  return suffix.empty() ? threeDigits(scaled) : fmt::format("{} {}", threeDigits(scaled), suffix);
}

Quantity bandFraction(Quantity sigmaLn) {
  return isKnown(sigmaLn) ? Quantity(std::expm1(*sigmaLn)) : std::nullopt;
}

std::string parametersText(const Parameters &parameters, bool dropNeutral) {
  constexpr size_t maxShown = 16;
  std::string out;
  size_t shown = 0;
  for (const auto &[name, value] : parameters) {
    if (dropNeutral && value == "1" && (name == "split_k" || name == "group_m"))
      continue;
    if (shown++ == maxShown)
      return out + " · …";
    out += out.empty() ? "" : " · ";
    if (name != "instruction") // "wgmma" speaks for itself
      put(out, "{} ", excerpt(name, 32));
    out += excerpt(value, 32);
  }
  return out;
}

std::string layerText(const std::string &layer) {
  return layer.empty() ? std::string() : " (" + layer + ")";
}

std::string modelTitle(std::string_view path) {
  std::string_view name = path.substr(path.find_last_of('/') + 1);
  for (std::string_view suffix : {".txt", ".hlo"})
    if (name.ends_with(suffix) && name.size() > suffix.size())
      name.remove_suffix(suffix.size());
  return std::string(name.empty() ? path : name);
}

std::string sourceText(const Kernel &kernel) {
  if (kernel.sourceFile.empty() || !kernel.sourceLine)
    return kernel.sourceFile;
  return fmt::format("{}:{}", kernel.sourceFile, *kernel.sourceLine);
}

} // namespace tilewright::report
