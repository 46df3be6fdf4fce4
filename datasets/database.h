// Value wrappers around SQLite: a database and its statements, with errors as llvm::Error.
#pragma once

#include "analysis/support/diag.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace tilewright {

class Database;

/// A prepared statement. Parameters and columns count from 0.
class Statement {
public:
  Statement(Statement &&) noexcept;
  Statement &operator=(Statement &&) = delete;
  ~Statement();

  Statement &bind(int parameter, std::string_view text);
  Statement &bind(int parameter, int64_t number);
  Statement &bind(int parameter, std::optional<double> number);

  /// Advances to the next row; false after the last. A finished statement restarts.
  llvm::Expected<bool> step();

  int columns() const;
  std::string text(int column) const;
  int64_t integer(int column) const;
  std::optional<double> number(int column) const; ///< nothing for NULL

private:
  friend class Database;
  explicit Statement(sqlite3_stmt *statement) : statement(statement) {}
  sqlite3_stmt *statement = nullptr;
};

/// Errors (BadInput) carry SQLite's message: not a database, damaged, locked, or full.
class Database {
public:
  /// Opens a file, creating it if necessary; ":memory:" is a database without a file.
  static llvm::Expected<Database> open(const std::string &path);
  Database(Database &&) noexcept;
  Database &operator=(Database &&) noexcept;
  ~Database();

  llvm::Error run(const std::string &sql); ///< one or more statements without results
  llvm::Expected<Statement> prepare(const std::string &sql);

private:
  explicit Database(sqlite3 *handle) : handle(handle) {}
  sqlite3 *handle = nullptr;
};

} // namespace tilewright
