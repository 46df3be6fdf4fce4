#include "tools/tilewright/tile_choice.h"

#include "analysis/support/diag.h"

#include <algorithm>
#include <charconv>

namespace tilewright::cli {

namespace {

/// "128x256x64", as other tools write sizes, with commas.
std::string withCommas(std::string text) {
  if (text.find_first_not_of("0123456789x") == std::string::npos)
    std::replace(text.begin(), text.end(), 'x', ',');
  return text;
}

} // namespace

llvm::Expected<Choice> parseChoice(const TileSpace &space, const std::string &given) {
  const std::string text = given.find_first_of("0123456789") == 0 ? withCommas(given) : given;
  Choice choice(space.parameters.size());
  size_t position = 0;
  for (size_t start = 0; !text.empty() && start <= text.size();) {
    size_t end = std::min(text.find(',', start), text.size());
    std::string part = text.substr(start, end - start);
    start = end + 1;
    size_t equals = part.find('=');
    std::string number = equals == std::string::npos ? part : part.substr(equals + 1);
    int64_t value = 0;
    auto [rest, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || rest != number.data() + number.size() || value < 1)
      return makeError(DiagClass::BadInput, "--tile: '{}' is not a size of at least 1", number);
    size_t index = position++;
    if (equals != std::string::npos) {
      std::optional<size_t> named = space.indexOf(part.substr(0, equals));
      if (!named) {
        std::string names;
        for (const TileParameter &parameter : space.parameters)
          names += " " + parameter.name;
        return makeError(DiagClass::BadInput, "--tile: no parameter '{}'; there are{}",
                         part.substr(0, equals), names);
      }
      index = *named;
    }
    if (index >= space.parameters.size())
      return makeError(DiagClass::BadInput, "--tile: more sizes than the {} parameters",
                       space.parameters.size());
    if (choice[index])
      return makeError(DiagClass::BadInput, "--tile: '{}' is given twice",
                       space.parameters[index].name);
    // A tile larger than the dim is clipped to it.
    const TileParameter &parameter = space.parameters[index];
    choice[index] = std::min(value, parameter.largest());
  }
  return choice;
}

llvm::Expected<CandidatePlan> candidatesOf(const std::vector<std::string> &rules,
                                           const TileSpace &space, bool withDevice) {
  CandidatePlan plan = CandidatePlan::standard();
  if (!withDevice) // no constraint involves the schedule
    for (const TileParameter &parameter : space.parameters)
      if (parameter.role == TileParameter::Role::Schedule)
        plan.byName[parameter.name] = {CandidateRule::Kind::List, 1, {1}};
  for (const std::string &text : rules) {
    llvm::Error error = llvm::Error::success();
    if (text.find('=') != std::string::npos) {
      error = plan.addRule(text);
    } else if (llvm::Expected<CandidateRule> rule = parseCandidateRule(text)) {
      plan.tiles = std::move(*rule);
    } else {
      error = rule.takeError();
    }
    if (error) {
      Diag diag = takeDiag(std::move(error));
      diag.message = "--candidates: " + diag.message;
      return makeError(std::move(diag));
    }
  }
  return plan;
}

void addDivisors(int64_t dim, std::vector<int64_t> &list) {
  CandidateRule rule;
  rule.kind = CandidateRule::Kind::Divisors;
  llvm::Expected<std::vector<int64_t>> divisors = candidatesFor(rule, dim);
  if (!divisors) { // two large primes
    llvm::consumeError(divisors.takeError());
    return;
  }
  list.insert(list.end(), divisors->begin(), divisors->end());
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

} // namespace tilewright::cli
