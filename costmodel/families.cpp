#include "costmodel/families.h"

#include "analysis/import/import_file.h"
#include "analysis/support/printable.h"
#include "costmodel/named_files.h"
#include "costmodel/template_parts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace tilewright {

using namespace template_parts;

llvm::Expected<FamilyArguments> parseFamilyArguments(std::string_view text) {
  FamilyArguments arguments;
  llvm::SmallVector<llvm::StringRef, 8> words;
  llvm::SplitString(llvm::StringRef(text.data(), text.size()), words, " ,\t\n");
  for (llvm::StringRef word : words) {
    auto [name, value] = word.split('=');
    if (name.empty() || value.empty())
      return makeError(DiagClass::BadInput, "'{}' is not NAME=VALUE, as in m=4096",
                       excerpt(word.str()));
    for (const auto &[known, ignored] : arguments)
      if (name == known)
        return makeError(DiagClass::BadInput, "'{}' is given twice", excerpt(known));
    arguments.emplace_back(name.str(), value.str());
  }
  return arguments;
}

std::string didYouMean(std::string_view name, std::span<const std::string> known) {
  const llvm::StringRef wanted(name.data(), name.size());
  unsigned best = (static_cast<unsigned>(name.size()) + 2) / 3 + 1;
  std::string nearest;
  for (const std::string &each : known) {
    const unsigned distance = wanted.edit_distance_insensitive(each, true, best);
    if (distance < best) {
      best = distance;
      nearest = each;
    }
  }
  return nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest);
}

namespace {

/// An argument with the variables that follow from it.
struct Input {
  FamilyArgument argument;
  std::string column;
  std::vector<const Source *> sources;
};

/// The columns that the variables read, sorted, so that dims are in order and types come last.
std::vector<Input> inputsOf(const Template &family) {
  std::vector<Input> inputs;
  for (const auto &[variable, source] : family.variables) {
    if (source.column.empty())
      continue;
    auto it = std::find_if(inputs.begin(), inputs.end(), [&, &from = source](const Input &each) {
      return each.column == from.column;
    });
    if (it == inputs.end())
      it = inputs.insert(inputs.end(), Input{{}, source.column, {}});
    // A size has one variable; what is mapped goes by its column.
    it->argument.name = it->sources.empty() && source.map.empty() ? variable : source.column;
    it->sources.push_back(&source);
    it->argument.isOptional = source.hasConstant;
    for (const auto &[from, to] : source.map)
      if (std::find(it->argument.choices.begin(), it->argument.choices.end(), from) ==
          it->argument.choices.end())
        it->argument.choices.push_back(from);
  }
  std::sort(inputs.begin(), inputs.end(),
            [](const Input &a, const Input &b) { return a.column < b.column; });
  return inputs;
}

std::string exampleOf(const std::vector<Input> &inputs) {
  std::string text;
  for (const Input &input : inputs)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", input.argument.name,
                        input.argument.choices.empty() ? input.argument.name == "batch"   ? "8"
                                                         : input.argument.name == "heads" ? "32"
                                                         : input.argument.name == "dim"   ? "128"
                                                                                          : "4096"
                                                       : input.argument.choices.front());
  return text;
}

llvm::Error checkArgument(const FamilyArgument &argument, const std::string &value) {
  if (!argument.choices.empty()) {
    if (std::find(argument.choices.begin(), argument.choices.end(), value) ==
        argument.choices.end())
      return makeError(DiagClass::BadInput, "{} is '{}', allowed are {}{}", argument.name,
                       excerpt(value), fmt::join(argument.choices, ", "),
                       didYouMean(value, argument.choices));
    return llvm::Error::success();
  }
  int64_t size = 0;
  if (llvm::StringRef(value).getAsInteger(10, size) || size < 1)
    return makeError(DiagClass::BadInput, "{} is '{}', allowed are whole numbers of at least 1",
                     argument.name, excerpt(value));
  return llvm::Error::success();
}

/// The values of the inputs, in order; empty for an optional one that is not given.
llvm::Expected<std::vector<std::string>> valuesOf(const Template &family,
                                                  const std::vector<Input> &inputs,
                                                  const FamilyArguments &arguments) {
  std::vector<std::string> names, values(inputs.size());
  for (const Input &input : inputs)
    names.push_back(input.argument.name);
  for (const auto &[name, value] : arguments) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end())
      return makeError(DiagClass::BadInput, "{} has no argument '{}'{}; it has {}", family.name(),
                       excerpt(name), didYouMean(name, names), fmt::join(names, ", "));
    const size_t index = static_cast<size_t>(at - names.begin());
    if (llvm::Error error = checkArgument(inputs[index].argument, value))
      return error;
    values[index] = value;
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (values[i].empty() && !inputs[i].argument.isOptional)
      return makeError(DiagClass::BadInput, "{} needs {}, as in '{} {}'", family.name(), names[i],
                       family.name(), exampleOf(inputs));
  return values;
}

std::string valueOf(const Source &source, const std::string &given) {
  if (given.empty())
    return source.constant;
  for (const auto &[from, to] : source.map)
    if (from == given)
      return to;
  return given;
}

} // namespace

std::vector<Family> TemplateLibrary::families() const {
  std::vector<Family> families;
  for (const Template &each : impl->templates) {
    if (!each.unpriced.empty())
      continue;
    const std::vector<Input> inputs = inputsOf(each);
    Family family{each.name(), each.about, {}, exampleOf(inputs)};
    for (const Input &input : inputs)
      family.arguments.push_back(input.argument);
    families.push_back(std::move(family));
  }
  std::sort(families.begin(), families.end(),
            [](const Family &a, const Family &b) { return a.name < b.name; });
  return families;
}

llvm::Expected<Module> TemplateLibrary::moduleOf(std::string_view name,
                                                 const FamilyArguments &arguments) const {
  std::vector<std::string> names;
  const Template *family = nullptr;
  for (const Template &each : impl->templates) {
    names.push_back(each.name());
    if (llvm::StringRef(each.name()).equals_insensitive({name.data(), name.size()}))
      family = &each;
  }
  if (!family)
    return makeError(DiagClass::BadInput, "no family '{}'{}; known: {}", excerpt(std::string(name)),
                     didYouMean(name, names), fmt::join(names, ", "));
  if (!family->unpriced.empty())
    return makeError(DiagClass::Unsupported, "{}: {}", family->name(), family->unpriced);
  const std::vector<Input> inputs = inputsOf(*family);
  llvm::Expected<std::vector<std::string>> values = valuesOf(*family, inputs, arguments);
  if (!values)
    return values.takeError();
  auto text = expand(family->hloText, [&](std::string_view wanted) -> llvm::Expected<std::string> {
    for (const auto &[variable, source] : family->variables) {
      if (variable != wanted)
        continue;
      for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].column == source.column)
          return valueOf(source, (*values)[i]);
      return source.constant;
    }
    return makeError(DiagClass::BadInput, "{}: no variable '{}' in {}", family->hloName, wanted,
                     family->fileName);
  });
  if (!text)
    return text.takeError();
  return importBuffer(std::make_shared<SourceBuffer>(family->hloName, std::move(*text)));
}

} // namespace tilewright
