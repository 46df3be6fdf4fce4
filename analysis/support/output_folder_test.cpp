// A folder holds what one run wrote, and nothing of somebody else's is lost.
#include "analysis/support/diag.h"
#include "analysis/support/output_folder.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace tilewright;

namespace {

namespace fs = std::filesystem;

class OwnedFolder : public testing::Test {
protected:
  OwnedFolder() {
    static unsigned count = 0;
    root = fs::temp_directory_path() / fmt::format("tilewright_output_{}_{}", getpid(), count++);
  }
  ~OwnedFolder() override { fs::remove_all(root); }

  llvm::Expected<OutputFolder> open() const {
    return OutputFolder::open(root.string(), "test", {"plans", "all.json"});
  }
  void put(const std::string &name, const std::string &bytes) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name, std::ios::binary) << bytes;
  }
  std::string refusal() const {
    auto folder = open();
    return folder ? "" : takeDiag(folder.takeError()).message;
  }

  fs::path root;
};

TEST_F(OwnedFolder, ALaterRunRemovesWhatItDoesNotKeep) {
  {
    OutputFolder folder = llvm::cantFail(open());
    for (const char *name : {"plans/0/a.json", "plans/0/b.json", "plans/1/c.json", "all.json"})
      llvm::cantFail(folder.write(name, name));
  }
  put("notes.txt", "mine");
  OutputFolder folder = llvm::cantFail(open());
  EXPECT_TRUE(folder.isWhole("plans/0/a.json"));
  EXPECT_FALSE(folder.isWhole("plans/0/none.json"));
  folder.removeAllBut({"plans/0/b.json"});
  EXPECT_FALSE(fs::exists(root / "plans/0/a.json"));
  EXPECT_TRUE(fs::exists(root / "plans/0/b.json"));
  EXPECT_FALSE(fs::exists(root / "plans/1"));
  EXPECT_FALSE(fs::exists(root / "all.json"));
  EXPECT_TRUE(fs::exists(root / "notes.txt"));
  folder.removeBelow("plans/0");
  EXPECT_FALSE(fs::exists(root / "plans"));
}

TEST_F(OwnedFolder, WhatWasChangedIsNotWhole) {
  OutputFolder folder = llvm::cantFail(open());
  llvm::cantFail(folder.write("all.json", "one"));
  EXPECT_TRUE(folder.isWhole("all.json"));
  put("all.json", "two");
  EXPECT_FALSE(folder.isWhole("all.json"));
  llvm::cantFail(folder.write("all.json", "two"));
  EXPECT_TRUE(folder.isWhole("all.json"));
  fs::remove(root / "all.json");
  EXPECT_FALSE(folder.isWhole("all.json"));
}

TEST_F(OwnedFolder, SomebodyElsesFilesAreRefusedAndKept) {
  put("plans/0/mine.json", "x");
  EXPECT_NE(refusal().find("holds plans/0/mine.json, which no run of test wrote"),
            std::string::npos);
  fs::remove(root / "plans/0/mine.json");
  EXPECT_EQ(refusal(), "");
  put("all.json", "x");
  EXPECT_NE(refusal(), "");
  fs::remove(root / "all.json");
  OutputFolder folder = llvm::cantFail(open());
  put("other.json", "mine");
  EXPECT_NE(takeDiag(folder.write("other.json", "x")).message.find("no run wrote it"),
            std::string::npos);
  folder.removeAllBut({});
  EXPECT_EQ(llvm::cantFail(readFile((root / "other.json").string())), "mine");
}

TEST_F(OwnedFolder, TheListSaysWhatIsThereAndNoMore) {
  for (unsigned run = 0; run < 3; ++run) {
    OutputFolder folder = llvm::cantFail(open());
    folder.removeAllBut({"plans/b"});
    if (run == 0)
      llvm::cantFail(folder.write("plans/b", "2"));
    llvm::cantFail(folder.write("all.json", "1"));
    llvm::cantFail(folder.finish());
    EXPECT_EQ(llvm::cantFail(readFile((root / ".tilewright-test").string())),
              "af63ac4c86019afc all.json\naf63af4c8601a015 plans/b\n");
  }
}

TEST_F(OwnedFolder, NothingStaysOfARunThatWroteNothing) {
  EXPECT_EQ(refusal(), "");
  EXPECT_FALSE(fs::exists(root));
  fs::create_directories(root);
  EXPECT_EQ(refusal(), "");
  EXPECT_TRUE(fs::is_empty(root));
}

TEST_F(OwnedFolder, TwoRunsAtOnceAreRefused) {
  OutputFolder folder = llvm::cantFail(open());
  EXPECT_NE(refusal().find("another run"), std::string::npos);
}

TEST_F(OwnedFolder, AListThatWasCutShortLosesNoFile) {
  {
    OutputFolder folder = llvm::cantFail(open());
    llvm::cantFail(folder.write("plans/a", "1"));
    llvm::cantFail(folder.write("plans/b", "2"));
  }
  // Killed while a line was added: its file was not written yet.
  fs::path list = root / ".tilewright-test";
  fs::resize_file(list, fs::file_size(list) - 3);
  fs::remove(root / "plans/b");
  {
    OutputFolder folder = llvm::cantFail(open());
    EXPECT_TRUE(folder.isWhole("plans/a"));
    llvm::cantFail(folder.write("plans/b", "3"));
  }
  EXPECT_TRUE(llvm::cantFail(open()).isWhole("plans/b"));
}

} // namespace
