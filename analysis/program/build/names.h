// Names in a built program: each once, and none that the text's grammar has.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tilewright::program {

class Names {
public:
  Names();

  /// A name made of an op's: "Arg_0.1" becomes Arg_0_1.
  std::string ofOp(std::string_view op);
  /// The next free one of these letters, then with numbers.
  std::string of(std::string_view letters);
  bool isFree(const std::string &name) const { return taken.count(name) == 0; }
  std::string take(std::string name) {
    taken.insert(name);
    return name;
  }

private:
  std::set<std::string, std::less<>> taken;
  std::map<std::string, size_t> tried; ///< by letters: how many names of them are taken
};

} // namespace tilewright::program
