// Whatever work does to its process, the caller goes on and knows what happened.
#include "analysis/support/diag.h"
#include "tools/tilewright/isolated.h"

#include <climits>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace tilewright;
using cli::runIsolated;

namespace {

using Text = llvm::Expected<std::string>;

Diag failureOf(const std::function<Text()> &work, unsigned seconds = 0) {
  auto result = runIsolated(work, seconds);
  if (!result)
    return takeDiag(result.takeError());
  ADD_FAILURE() << "worked: " << *result;
  return {};
}

/// Goes down until the stack ends.
__attribute__((noinline)) int descend(int depth) {
  static volatile int last = INT_MAX;
  volatile char frame[4096];
  frame[depth % 4096] = static_cast<char>(depth);
  return depth == last ? 0 : descend(depth + 1) + frame[0];
}

TEST(Isolated, TextComesBackWhole) {
  std::string text(3'000'000, '\0');
  for (size_t i = 0; i < text.size(); ++i)
    text[i] = static_cast<char>(i * 7);
  EXPECT_EQ(llvm::cantFail(runIsolated([&]() -> Text { return text; }, 0)), text);
  EXPECT_EQ(llvm::cantFail(runIsolated([]() -> Text { return std::string(); }, 60)), "");
}

TEST(Isolated, MemoryIsItsOwn) {
  int value = 1;
  EXPECT_EQ(llvm::cantFail(runIsolated(
                [&]() -> Text {
                  value = 2;
                  return std::to_string(value);
                },
                0)),
            "2");
  EXPECT_EQ(value, 1);
}

TEST(Isolated, ErrorsKeepTheirPlace) {
  Diag diag = failureOf([]() -> Text {
    SourceBuffer buffer("m.hlo", "one\ntwo \xff three");
    Diag diag = diagAt(buffer, SourceLoc{6}, "no such word", DiagClass::Unsupported);
    diag.notes = {"look again"};
    return makeError(diag);
  });
  EXPECT_EQ(diag.cls, DiagClass::Unsupported);
  EXPECT_EQ(diag.line, 2u);
  EXPECT_EQ(diag.column, 3u);
  EXPECT_EQ(diag.file, "m.hlo");
  EXPECT_EQ(diag.notes, std::vector<std::string>{"look again"});
}

TEST(Isolated, CrashesAreOurBugs) {
  const std::pair<std::function<Text()>, const char *> crashes[] = {
      {[]() -> Text {
         std::raise(SIGSEGV);
         return "";
       },
       "signal 11"},
      {[]() -> Text { std::abort(); }, "signal 6"},
      {[]() -> Text { return std::to_string(descend(0)); }, "signal 11"},
      {[]() -> Text { _exit(3); }, "exit code 3"},
      {[]() -> Text { _exit(0); }, "exit code 0"},
      {[]() -> Text { throw std::logic_error("this can't be"); }, "this can't be"},
  };
  for (const auto &[work, expected] : crashes) {
    Diag diag = failureOf([&]() -> Text {
      rlimit noCore{0, 0};
      setrlimit(RLIMIT_CORE, &noCore);
      for (int signal : {SIGSEGV, SIGABRT}) // a sanitizer's handlers would end it in another way
        std::signal(signal, SIG_DFL);
      return work();
    });
    EXPECT_EQ(diag.cls, DiagClass::Internal) << diag.message;
    EXPECT_NE(diag.message.find(expected), std::string::npos) << diag.message;
  }
}

TEST(Isolated, MemoryAndTimeThatRunOutAreNoBugs) {
  Diag diag = failureOf([]() -> Text { throw std::bad_alloc(); });
  EXPECT_EQ(diag.cls, DiagClass::BudgetSpent);
  EXPECT_NE(diag.message.find("out of memory"), std::string::npos);
  diag = failureOf([]() -> Text {
    std::raise(SIGKILL);
    return "";
  });
  EXPECT_EQ(diag.cls, DiagClass::BudgetSpent);
  diag = failureOf(
      []() -> Text {
        while (true)
          pause();
      },
      1);
  EXPECT_EQ(diag.cls, DiagClass::BudgetSpent);
  EXPECT_NE(diag.message.find("more than 1 s"), std::string::npos);
}

} // namespace
