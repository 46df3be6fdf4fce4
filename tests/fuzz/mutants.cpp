#include "tests/fuzz/mutants.h"

#include "analysis/support/diag.h"

#include <cctype>
#include <exception>
#include <random>

namespace tilewright::test {

namespace {

class Mutation {
public:
  Mutation(const MutantFormat &format, uint64_t seed) : format(format), random(seed) {}

  std::string make() {
    std::string text = format.originals[below(format.originals.size())];
    for (size_t changes = 1 + below(5); changes > 0; --changes)
      change(text);
    return text;
  }

private:
  size_t below(size_t n) { return n ? random() % n : 0; }

  void change(std::string &text) {
    const std::string_view alphabet =
        "(){}[]<>=,.:;%\"\\/*-_+xe0123456789abfs \n\t\r\x01\x1b\x7f\xc3\xff";
    size_t at = below(text.size() + 1);
    switch (below(9)) {
    case 0:
      if (at < text.size())
        text[at] = alphabet[below(alphabet.size())];
      break;
    case 1:
      text.insert(at, 1, alphabet[below(alphabet.size())]);
      break;
    case 2:
      text.erase(at, 1 + below(20));
      break;
    case 3:
      text.insert(at, text.substr(below(text.size()), below(200)));
      break;
    case 4:
      if (below(8) == 0)
        text.resize(at);
      break;
    case 5:
      if (at < text.size())
        text[at] = static_cast<char>(random());
      break;
    case 6:
    case 7:
      changeNumber(text, at);
      break;
    default:
      if (!format.words.empty())
        text.insert(at, format.words[below(format.words.size())]);
    }
  }

  /// Replaces the first number from `at` on.
  void changeNumber(std::string &text, size_t at) {
    auto isDigit = [&](size_t i) { return std::isdigit(static_cast<unsigned char>(text[i])) != 0; };
    while (at < text.size() && !isDigit(at))
      ++at;
    size_t end = at;
    while (end < text.size() && isDigit(end))
      ++end;
    if (at == end)
      return;
    const char *numbers[] = {"0",
                             "-1",
                             "1",
                             "2",
                             "3",
                             "65536",
                             "2147483648",
                             "4294967296",
                             "4611686018427387904",
                             "9223372036854775807",
                             "-9223372036854775808",
                             "9223372036854775808",
                             "18446744073709551616",
                             "1e308",
                             "1e999",
                             "0.5",
                             "nan",
                             "-0",
                             "1e-320",
                             "\"1\"",
                             "null"};
    text.replace(at, end - at, numbers[below(std::size(numbers))]);
  }

  const MutantFormat &format;
  std::mt19937_64 random;
};

} // namespace

std::string mutantOf(const MutantFormat &format, uint64_t seed) {
  return format.mutant ? format.mutant(seed) : Mutation(format, seed).make();
}

MutantRun runMutants(const MutantFormat &format, size_t count, uint64_t seed,
                     const std::function<void(uint64_t)> &before) {
  MutantRun run;
  for (const std::string &original : format.originals)
    if (auto error = format.read(original)) {
      run.fault = "an original is refused: " + takeDiag(std::move(error)).str();
      return run;
    }
  for (uint64_t i = seed; i < seed + count; ++i) {
    if (before)
      before(i);
    std::string text = mutantOf(format, i);
    auto fault = [&](const std::string &what) {
      run.fault = fmt::format("{} {}: {}\n{}", format.name, i, what, text);
      return run;
    };
    try {
      llvm::Error error = format.read(text);
      if (!error) {
        ++run.read;
        continue;
      }
      Diag diag = takeDiag(std::move(error));
      ++run.refused;
      if (diag.cls == DiagClass::Internal || diag.message.empty())
        return fault("not an answer to bad input: " + diag.str());
    } catch (const std::exception &exception) {
      return fault(std::string("an exception: ") + exception.what());
    }
  }
  return run;
}

} // namespace tilewright::test
