// Answers about programs, each found once for programs that differ by the names of tensors alone.
#pragma once

#include "analysis/program/text.h"

#include <fmt/format.h>
#include <map>
#include <memory>
#include <mutex>

namespace tilewright {

/// May be asked from several threads.
template <typename Answer> class KnownPrograms {
public:
  /// The answer of `find` about the program with its tensors numbered, T0, T1, …
  template <typename Find> const Answer &of(const program::Program &program, const Find &find) {
    program::Program numbered = program;
    numbered.name = "k";
    for (size_t i = 0; i < numbered.tensors.size(); ++i)
      numbered.tensors[i].name = fmt::format("T{}", i);
    Entry *entry = nullptr;
    {
      std::lock_guard lock(mutex);
      std::unique_ptr<Entry> &at = entries[program::printProgram(numbered)];
      if (!at)
        at = std::make_unique<Entry>();
      entry = at.get();
    }
    std::call_once(entry->once, [&] { entry->answer = find(numbered); });
    return entry->answer;
  }

private:
  struct Entry {
    std::once_flag once;
    Answer answer;
  };
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Entry>> entries; ///< by text
};

} // namespace tilewright
