// Folders appear whole, whatever lies about, and their digest tells what was done to them.
#include "analysis/support/diag.h"
#include "analysis/support/folder_digest.h"
#include "analysis/support/new_folder.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace tilewright;

namespace {

namespace fs = std::filesystem;

class Folders : public testing::Test {
protected:
  Folders() {
    static unsigned count = 0;
    root = fs::temp_directory_path() / fmt::format("tilewright_folder_{}_{}", getpid(), count++);
    fs::create_directories(root);
  }
  ~Folders() override { fs::remove_all(root); }

  void make(const std::string &name, const std::string &bytes) const {
    NewFolder folder = llvm::cantFail(NewFolder::at((root / name).string()));
    llvm::cantFail(folder.write("file", bytes));
    llvm::cantFail(folder.moveIntoPlace());
  }
  void put(const std::string &name, const std::string &bytes) const {
    std::ofstream(root / name, std::ios::binary) << bytes;
  }
  std::string read(const std::string &name) const {
    return llvm::cantFail(readFile((root / name).string()));
  }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(root), {}));
  }

  fs::path root;
};

TEST_F(Folders, TheNewOneTakesThePlaceOfTheOld) {
  make("deep/pack", "one");
  make("deep/pack", "two");
  EXPECT_EQ(read("deep/pack/file"), "two");
  { NewFolder unfinished = llvm::cantFail(NewFolder::at((root / "deep/pack").string())); }
  EXPECT_EQ(read("deep/pack/file"), "two");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Folders, LinksStay) {
  make("real", "one");
  fs::create_directory_symlink("real", root / "link");
  make("link", "two");
  make("link/", "three");
  EXPECT_TRUE(fs::is_symlink(root / "link"));
  EXPECT_EQ(read("real/file"), "three");
}

TEST_F(Folders, WhatKilledRunsLeftIsInNobodysWay) {
  for (unsigned i = 0; i < 300; ++i) {
    fs::create_directory(root / fmt::format("pack.tmp{}", i));
    fs::create_directory(root / fmt::format(".tilewright-{:016x}.tmp", i));
  }
  make("pack", "one");
  EXPECT_EQ(read("pack/file"), "one");
}

TEST_F(Folders, TheCurrentFolderIsRefused) {
  for (const char *name : {".", "/", "./."}) {
    auto folder = NewFolder::at(name);
    ASSERT_FALSE(bool(folder)) << name;
    EXPECT_EQ(takeDiag(folder.takeError()).cls, DiagClass::BadInput);
  }
}

TEST_F(Folders, TheDigestNamesWhatDiffers) {
  put("a", "one");
  put("b", "two");
  std::vector<std::string> ignored;
  std::string digest = FolderDigest::ofFolder(root.string(), ignored).text();
  auto problems = [&] { return folderProblems(root.string()); };
  EXPECT_EQ(problems(),
            std::vector<std::string>{
                "digest.txt is missing: nothing says what the files were; emit the pack "
                "again"});
  put(FolderDigest::fileName, digest);
  EXPECT_TRUE(problems().empty());
  put("b", "tw0");
  EXPECT_EQ(problems().front(), "b is not what digest.txt was made of; emit the pack again");
  fs::remove(root / "b");
  EXPECT_EQ(problems().front(), "b is missing; emit the pack again");
  put("b", "two");
  put("c", "");
  EXPECT_EQ(problems().front(), "c is not of the pack; remove it");
  fs::remove(root / "c");
  fs::create_directory(root / "d");
  EXPECT_EQ(problems().front(), "d is not a file of a pack; remove it");
  fs::remove(root / "d");
  EXPECT_TRUE(problems().empty());
  // Any byte of the digest itself.
  for (size_t i = 0; i < digest.size(); ++i) {
    std::string other = digest;
    other[i] = static_cast<char>(other[i] ^ 1);
    put(FolderDigest::fileName, other);
    EXPECT_FALSE(problems().empty()) << i;
    put(FolderDigest::fileName, digest.substr(0, i));
    EXPECT_FALSE(problems().empty()) << i;
  }
}

} // namespace
