// Mutants: files of a format with random damage. Each is read, or refused as bad input; never a
// crash, a hang, or an error that calls itself our bug.
//
//   mutants FORMAT COUNT SEED     one format, from the command line (under sanitizers, by the hour)
//                                 (TILEWRIGHT_MUTANTS_EXPLORED=16: of modules, few are explored)
//   mutants_test                  a few hundred of every format, with each run of the tests
//
// A format is a function that returns a MutantFormat; mutant_formats.cpp lists them.
#pragma once

#include "llvm/Support/Error.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::test {

struct MutantFormat {
  std::string name;                   ///< "plan"
  std::vector<std::string> originals; ///< texts that are read without an error
  std::vector<std::string> words;     ///< pieces that mean something in the format
  /// Reads a text from memory, and does with it what a command would; the value is dropped.
  std::function<llvm::Error(const std::string &)> read;
  /// A mutant of a format that has its own kind of damage; null: that of mutantOf().
  std::function<std::string(uint64_t seed)> mutant = {};
};

/// The formats of this build.
std::vector<MutantFormat> mutantFormats();

/// An original with one to five changes, the same for the same seed: bytes replaced, inserted and
/// removed, pieces copied, cut off, words of the format put in, numbers made extreme.
std::string mutantOf(const MutantFormat &format, uint64_t seed);

struct MutantRun {
  size_t read = 0, refused = 0;
  /// Of the first mutant that is answered wrongly: its seed, the answer, and the text. Empty: none.
  std::string fault;
};

/// Reads the mutants `seed` … `seed + count - 1`, and stops at the first fault. `before` is called
/// with each seed, so that a crash can be traced to it.
MutantRun runMutants(const MutantFormat &format, size_t count, uint64_t seed,
                     const std::function<void(uint64_t)> &before = {});

} // namespace tilewright::test
