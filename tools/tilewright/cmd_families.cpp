// tilewright families: the bundled kernels that suggest knows, and what each needs.
#include "costmodel/templates.h"
#include "tools/tilewright/catalogue.h"

#include "llvm/ADT/StringRef.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright::cli {

namespace {

struct FamilyOptions {
  std::string name, templates; ///< empty: all; the bundled ones
  bool json = false;
};

llvm::Expected<std::vector<Family>> familiesFor(const FamilyOptions &options) {
  llvm::Expected<TemplateLibrary> library = TemplateLibrary::load();
  if (!library)
    return library.takeError();
  if (!options.templates.empty())
    if (llvm::Error error = library->addFolder(options.templates))
      return error;
  std::vector<Family> families = library->families();
  if (options.name.empty())
    return families;
  std::vector<std::string> names;
  for (const Family &each : families) {
    if (llvm::StringRef(each.name).equals_insensitive(options.name))
      return std::vector<Family>{each};
    names.push_back(each.name);
  }
  return makeError(DiagClass::BadInput, "no family '{}'{}; known: {}", excerpt(options.name),
                   didYouMean(options.name, names), fmt::join(names, ", "));
}

void printFamilies(const std::vector<Family> &families) {
  size_t widest = 0, longest = 0;
  for (const Family &family : families) {
    widest = std::max(widest, family.name.size());
    longest = std::max(longest, family.example.size());
  }
  for (const Family &family : families)
    say("{:<{}}  {:<{}}  {}\n", family.name, widest, family.example, longest, family.about);
}

void printFamily(const Family &family) {
  say("{}: {}\n", family.name, family.about);
  for (const FamilyArgument &argument : family.arguments)
    say("  {:<8} {}{}\n", argument.name,
        argument.choices.empty() ? "a whole number of at least 1"
                                 : fmt::format("{}", fmt::join(argument.choices, ", ")),
        argument.isOptional ? "; may be left out" : "");
  say("example   tilewright suggest {} {} --device h100\n", family.name, family.example);
}

int runFamilies(const FamilyOptions &options) {
  llvm::Expected<std::vector<Family>> families = familiesFor(options);
  if (!families)
    return failInput(families.takeError());
  if (options.json) {
    Json document = newDocument("families");
    document["families"] = Json::array();
    for (const Family &family : *families)
      document["families"].push_back(familyEntry(family));
    print(document);
  } else if (options.name.empty()) {
    printFamilies(*families);
  } else {
    printFamily(families->front());
  }
  return Fine;
}

} // namespace

void addFamilies(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<FamilyOptions>();
  CLI::App *command =
      app.add_subcommand("families", "Kernels that suggest knows by name, and what each needs");
  command->footer("Examples:\n"
                  "  tilewright families\n"
                  "  tilewright families gemm");
  command->add_option("NAME", options->name, "Family name: all its arguments");
  command->add_option("--templates", options->templates, "Folder with more families");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runFamilies(*options); }; });
}

} // namespace tilewright::cli
