// Threads that have an element to store, and those that a tile has none for.
//
// Where no thread waits for another one or reads what it wrote, those with nothing to store end at
// once: they load nothing, not even what others hold too, and evaluate nothing. The emission
// does so, and folds and the interpreter count so. Running example: 256 threads, a tile of 8 x 7:
//
//   a = load k[j] @ flat(1) of i,j       each element by the 8 threads of a column
//   store y[i, j] = a                    200 threads have nothing to do
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

class ThreadsAtWork {
public:
  explicit ThreadsAtWork(const Program &program);

  /// Do the others end at once?
  bool othersEnd() const { return ends; }
  /// Threads of a CTA in the warps that go on, at most: exact where each axis has no more threads
  /// than vectors, or lanes go on along the next axis.
  Expr count() const;
  /// Threads that go on and hold the same element of a tile.
  Expr copiesIn(const Layout &layout) const;

private:
  Expr threadsAlong(const Digit &copy) const;

  const Program &p;
  bool ends = false;
  AxisSet axes;  ///< of what is stored
  Layout stored; ///< how it is held
};

} // namespace tilewright::program
