#include "tools/tilewright/command_line.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cctype>
#include <fmt/ranges.h>
#include <set>

namespace tilewright::cli {

namespace {

/// The library lists options that an option excludes in the order of their addresses.
class HelpFormatter : public CLI::Formatter {
public:
  std::string make_option_opts(const CLI::Option *option) const override {
    const std::set<CLI::Option *> excluded = option->get_excludes();
    std::string listed, sorted, text = CLI::Formatter::make_option_opts(option);
    std::set<std::string> names;
    for (const CLI::Option *other : excluded) {
      listed += " " + other->get_name();
      names.insert(other->get_name());
    }
    for (const std::string &name : names)
      sorted += " " + name;
    if (listed.empty() || !text.ends_with(listed)) // nothing, or a text of the option's own
      return text;
    return text.replace(text.size() - listed.size(), listed.size(), sorted);
  }
};

/// Groups of options are commands without a name.
bool isCommand(const CLI::App *app) { return !app->get_name().empty(); }

std::vector<std::string> commandNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands(isCommand))
    names.push_back(command->get_name());
  return names;
}

/// "--device", "-d" of a command.
std::vector<std::string> optionNames(const CLI::App &command) {
  std::vector<std::string> names;
  for (const CLI::Option *option : command.get_options()) {
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
    for (const std::string &name : option->get_snames())
      names.push_back("-" + name);
  }
  for (const CLI::App *group : command.get_subcommands({}))
    if (!isCommand(group))
      for (std::string &name : optionNames(*group))
        names.push_back(std::move(name));
  return names;
}

/// ", did you mean 'tile'?" or nothing.
std::string suggestion(std::string_view wanted, const std::vector<std::string> &names) {
  const std::string nearest = nearestName(wanted, names);
  return nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest);
}

/// The command that the user got to: the innermost that was named.
const CLI::App &reached(const CLI::App &app) {
  for (const CLI::App *inner : app.get_subcommands())
    if (isCommand(inner))
      return reached(*inner);
  return app;
}

std::string fullName(const CLI::App &command) {
  return (command.get_parent() ? fullName(*command.get_parent()) + " " : "") + command.get_name();
}

llvm::Expected<const CLI::App *> findCommand(const CLI::App &app,
                                             const std::vector<std::string> &path) {
  const CLI::App *at = &app;
  for (const std::string &name : path) {
    const std::vector<std::string> names = commandNames(*at);
    if (std::find(names.begin(), names.end(), name) == names.end())
      return names.empty()
                 ? makeError(DiagClass::BadInput, "{} has no commands of its own", fullName(*at))
                 : makeError(DiagClass::BadInput, "no command '{}'{}; there are {}", excerpt(name),
                             suggestion(name, names), fmt::join(names, ", "));
    at = at->get_subcommand(name);
  }
  return at;
}

void addHelp(CLI::App &app, Selection &selection) {
  auto path = std::make_shared<std::vector<std::string>>();
  CLI::App *command = app.add_subcommand("help", "What a command does, as its --help says it");
  command->footer("Examples:\n"
                  "  tilewright help\n"
                  "  tilewright help data import");
  command->add_option("COMMAND", *path, "A command (default: all in short)");
  command->callback([path, &app, &selection] {
    selection.run = [path, &app] {
      llvm::Expected<const CLI::App *> found = findCommand(app, *path);
      if (!found)
        return failInput(found.takeError());
      // help() of a command delegates to the command that was named: this one.
      const std::string text = (*found)->get_formatter()->make_help(*found, fullName(**found),
                                                                    CLI::AppFormatMode::Normal);
      std::fputs(text.c_str(), stdout);
      return static_cast<int>(Fine);
    };
  });
}

void addVoice(CLI::App &command) {
  constexpr const char *group = "Options of all commands";
  CLI::Option *quiet = command.add_flag("-q,--quiet", voice().isQuiet,
                                        "Neither progress nor notes on standard error");
  quiet->group(group);
  command
      .add_flag("-v,--verbose", voice().isVerbose,
                "Say on standard error what is read, and how long it takes")
      ->excludes(quiet)
      ->group(group);
  command
      .add_option("--color", voice().color,
                  "Colours: on a terminal (auto, unless NO_COLOR is set), always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group(group);
  for (CLI::App *inner : command.get_subcommands(isCommand))
    addVoice(*inner);
}

} // namespace

std::shared_ptr<CLI::Formatter> helpFormatter() { return std::make_shared<HelpFormatter>(); }

void addCommonParts(CLI::App &app, Selection &selection) {
  addHelp(app, selection);
  addVoice(app);
}

CLI::Option *takesStandardInput(CLI::Option *option) {
  return option->transform(
      [](const std::string &given) { return given == "-" ? std::string("/dev/stdin") : given; },
      "");
}

std::string nearestName(std::string_view wanted, const std::vector<std::string> &names) {
  std::string best;
  // A third of the letters may be wrong, and one of a short name.
  unsigned least = std::max<unsigned>(1, static_cast<unsigned>(wanted.size()) / 3) + 1;
  for (const std::string &name : names) {
    const unsigned distance = llvm::StringRef(wanted.data(), wanted.size())
                                  .edit_distance(name, /*AllowReplacements=*/true, least);
    if (distance < least && distance < name.size()) {
      least = distance;
      best = name;
    }
  }
  return best;
}

int failUsage(const CLI::App &app, const CLI::ParseError &error) {
  const CLI::App &command = reached(app);
  const std::vector<std::string> extra = command.remaining();
  const std::vector<std::string> commands = commandNames(command);
  std::string message = error.what();
  auto unknown = std::find_if(extra.begin(), extra.end(), [](const std::string &argument) {
    return argument.starts_with("-") && argument.size() > 1;
  });
  if (unknown != extra.end()) {
    const std::string name = unknown->substr(0, unknown->find('='));
    message = fmt::format("no option '{}'{}", name, suggestion(name, optionNames(command)));
  } else if (!commands.empty() && !extra.empty()) {
    message = fmt::format("no command '{}'{}{}", extra.front(), suggestion(extra.front(), commands),
                          fmt::format("; there are {}", fmt::join(commands, ", ")));
  } else if (message.size() > 1 && std::islower(static_cast<unsigned char>(message[1]))) {
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  }
  const std::string text =
      fmt::format("error: {}; see {} --help\n", printableMessage(message), fullName(command));
  std::fputs(coloured(text, stderr).c_str(), stderr);
  return BadUsage;
}

} // namespace tilewright::cli
