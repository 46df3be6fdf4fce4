// What a path leads to decides how it is written.
#include "analysis/support/diag.h"
#include "analysis/support/replace_file.h"

#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <thread>
#include <unistd.h>

using namespace tilewright;

namespace {

namespace fs = std::filesystem;

class ReplaceFile : public testing::Test {
protected:
  ReplaceFile() {
    static unsigned count = 0;
    folder = fs::temp_directory_path() / fmt::format("tilewright_replace_{}_{}", getpid(), count++);
    fs::create_directories(folder);
  }
  ~ReplaceFile() override { fs::remove_all(folder); }

  std::string operator/(const std::string &name) const { return (folder / name).string(); }
  std::string read(const std::string &name) const { return llvm::cantFail(readFile(*this / name)); }
  /// Nothing but what is expected; no temporary file stays.
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
  }

  fs::path folder;
};

TEST_F(ReplaceFile, PlainFilesAreReplacedWithTheirPermissions) {
  EXPECT_EQ(replaceFile(*this / "f", "one"), "");
  ASSERT_EQ(chmod((*this / "f").c_str(), 0600), 0);
  EXPECT_EQ(replaceFile(*this / "f", "two"), "");
  EXPECT_EQ(read("f"), "two");
  struct stat info {};
  ASSERT_EQ(stat((*this / "f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(replaceFile(*this / std::string(255, 'n'), "x"), ""); // the longest name that there is
  EXPECT_EQ(entries(), 2u);
}

TEST_F(ReplaceFile, LinksStayAndWhatTheyLeadToIsReplaced) {
  fs::create_directory(folder / "sub");
  ASSERT_EQ(replaceFile(*this / "sub/file", "old"), "");
  fs::create_symlink("sub/file", folder / "direct");
  fs::create_symlink(folder / "direct", folder / "twice");
  fs::create_symlink("sub/later", folder / "dangling");
  for (const char *name : {"direct", "twice", "dangling"}) {
    EXPECT_EQ(replaceFile(*this / name, name), "");
    EXPECT_TRUE(fs::is_symlink(folder / name)) << name;
    EXPECT_EQ(read(name), name);
  }
  EXPECT_EQ(read("sub/file"), "twice");
  EXPECT_EQ(read("sub/later"), "dangling");
  fs::create_symlink("round", folder / "round");
  EXPECT_NE(replaceFile(*this / "round", "x"), "");
  EXPECT_TRUE(fs::is_symlink(folder / "round"));
}

TEST_F(ReplaceFile, WhatIsNoFileIsWrittenThrough) {
  std::string pipe = *this / "pipe", got;
  ASSERT_EQ(mkfifo(pipe.c_str(), 0666), 0);
  fs::create_symlink("pipe", folder / "link");
  for (const std::string &path : {pipe, *this / "link"}) {
    std::thread reader([&] {
      int file = open(pipe.c_str(), O_RDONLY);
      char buffer[64];
      ssize_t bytes = ::read(file, buffer, sizeof buffer);
      got.assign(buffer, static_cast<size_t>(std::max<ssize_t>(bytes, 0)));
      close(file);
    });
    EXPECT_EQ(replaceFile(path, "through " + path.substr(path.size() - 4)), "");
    reader.join();
    EXPECT_EQ(got, "through " + path.substr(path.size() - 4));
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
  struct stat before {
  }, after{};
  ASSERT_EQ(stat("/dev/null", &before), 0);
  EXPECT_EQ(replaceFile("/dev/null", "x"), "");
  ASSERT_EQ(lstat("/dev/null", &after), 0);
  EXPECT_EQ(before.st_rdev, after.st_rdev);
  EXPECT_TRUE(S_ISCHR(after.st_mode));
  EXPECT_EQ(entries(), 2u);
}

TEST_F(ReplaceFile, FoldersAndMissingFoldersAreRefusedWithTheReason) {
  fs::create_directory(folder / "sub");
  fs::create_directory_symlink("sub", folder / "link");
  EXPECT_EQ(replaceFile(*this / "sub", "x"), "cannot write: it is a folder");
  EXPECT_EQ(replaceFile(*this / "link", "x"), "cannot write: it is a folder");
  EXPECT_NE(replaceFile(*this / "no/file", "x").find("No such file"), std::string::npos);
  EXPECT_EQ(entries(), 2u);
}

} // namespace
