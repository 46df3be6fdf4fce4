#include "tools/tilewright/family_choices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright::cli {

llvm::Expected<ChosenFamily> FamilyChoices::load() const {
  llvm::Expected<TemplateLibrary> library = TemplateLibrary::load();
  if (!library)
    return library.takeError();
  if (!templates.empty())
    if (llvm::Error error = library->addFolder(templates))
      return error;
  llvm::Expected<FamilyArguments> parsed =
      parseFamilyArguments(fmt::format("{}", fmt::join(arguments, " ")));
  if (!parsed)
    return parsed.takeError();
  return ChosenFamily{std::move(*library), std::move(*parsed)};
}

std::string FamilyChoices::text() const {
  return fmt::format("{} {}", family, fmt::join(arguments, " "));
}

void addFamilyChoices(CLI::App &command, FamilyChoices &choices, const std::string &help) {
  command.add_option("FAMILY", choices.family, "Family name")->required();
  command.add_option("ARGUMENT", choices.arguments, help)->required();
  command.add_option("--templates", choices.templates, "Folder with more families");
}

} // namespace tilewright::cli
