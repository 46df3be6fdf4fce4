#include "datasets/database.h"

#include <sqlite3.h>
#include <utility>

namespace tilewright {

namespace {
llvm::Error errorOf(sqlite3 *handle) {
  return makeError(DiagClass::BadInput, "sqlite: {}",
                   handle ? sqlite3_errmsg(handle) : "out of memory");
}
constexpr int busyMilliseconds = 2000;
} // namespace

Statement::Statement(Statement &&other) noexcept
    : statement(std::exchange(other.statement, nullptr)) {}
Statement::~Statement() { sqlite3_finalize(statement); }

Statement &Statement::bind(int parameter, std::string_view text) {
  sqlite3_bind_text(statement, parameter + 1, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
  return *this;
}
Statement &Statement::bind(int parameter, int64_t number) {
  sqlite3_bind_int64(statement, parameter + 1, number);
  return *this;
}
Statement &Statement::bind(int parameter, std::optional<double> number) {
  if (number)
    sqlite3_bind_double(statement, parameter + 1, *number);
  else
    sqlite3_bind_null(statement, parameter + 1);
  return *this;
}

llvm::Expected<bool> Statement::step() {
  switch (sqlite3_step(statement)) {
  case SQLITE_ROW:
    return true;
  case SQLITE_DONE:
    sqlite3_reset(statement);
    return false;
  default: {
    llvm::Error error = errorOf(sqlite3_db_handle(statement));
    sqlite3_reset(statement);
    return error;
  }
  }
}

int Statement::columns() const { return sqlite3_column_count(statement); }
std::string Statement::text(int column) const {
  const unsigned char *text = sqlite3_column_text(statement, column);
  return text ? std::string(reinterpret_cast<const char *>(text),
                            static_cast<size_t>(sqlite3_column_bytes(statement, column)))
              : std::string();
}
int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement, column); }
std::optional<double> Statement::number(int column) const {
  if (sqlite3_column_type(statement, column) == SQLITE_NULL)
    return std::nullopt;
  return sqlite3_column_double(statement, column);
}

llvm::Expected<Database> Database::open(const std::string &path) {
  sqlite3 *handle = nullptr;
  int status =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  Database database(handle);
  if (status != SQLITE_OK)
    return errorOf(handle);
  sqlite3_busy_timeout(handle, busyMilliseconds);
  return database;
}

Database::Database(Database &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
Database &Database::operator=(Database &&other) noexcept {
  std::swap(handle, other.handle);
  return *this;
}
Database::~Database() { sqlite3_close_v2(handle); }

llvm::Error Database::run(const std::string &sql) {
  if (sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return errorOf(handle);
  return llvm::Error::success();
}

llvm::Expected<Statement> Database::prepare(const std::string &sql) {
  sqlite3_stmt *statement = nullptr;
  if (sqlite3_prepare_v2(handle, sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr) !=
      SQLITE_OK)
    return errorOf(handle);
  return Statement(statement);
}

} // namespace tilewright
