#include "profiler/journal.h"
#include "profiler/record.h"
#include "profiler/text.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tilewright::profile {

namespace {

class JournalTest : public testing::Test {
protected:
  JournalTest()
      : path((std::filesystem::temp_directory_path() /
              ("journal_test." + std::to_string(getpid()) + ".csv"))
                 .string()) {
    std::filesystem::remove(path);
  }
  ~JournalTest() override { std::filesystem::remove(path); }

  const std::vector<std::string> columns = {"a", "b", "c"};
  const std::vector<std::vector<std::string>> sample = {
      {"1", "", "x"}, {"2", "with, comma", "quo\"te"}, {"3", "", ""}};
  std::string path;

  std::string bytes() { return *readTextFile(path, 1 << 20); }
  void write(const std::string &text) { std::ofstream(path, std::ios::binary) << text; }
  void writeSample() {
    Result<Journal> journal = Journal::open(path, columns);
    ASSERT_TRUE(journal) << journal.failure().message;
    for (const auto &row : sample)
      ASSERT_FALSE(journal->append(row));
  }
};

TEST_F(JournalTest, WhatWasAppendedIsReadBack) {
  writeSample();
  Result<Journal> again = Journal::open(path, columns);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->rows(), sample);
  EXPECT_EQ(again->droppedBytes(), 0u);
  EXPECT_EQ(bytes().substr(0, 14), "a,b,c,row_chec");
}

TEST_F(JournalTest, CutAnywhereNoRowIsLostOrDoubled) {
  writeSample();
  const std::string whole = bytes();
  for (size_t keep = 0; keep <= whole.size(); ++keep) {
    write(whole.substr(0, keep));
    size_t rowsKept = 0;
    {
      Result<Journal> journal = Journal::open(path, columns);
      ASSERT_TRUE(journal) << keep << ": " << journal.failure().message;
      rowsKept = journal->rows().size();
      // Exactly the rows whose lines are whole.
      std::string kept = whole.substr(0, keep);
      auto ends = static_cast<size_t>(std::count(kept.begin(), kept.end(), '\n'));
      EXPECT_EQ(rowsKept, ends == 0 ? 0 : ends - 1) << keep;
      for (size_t i = 0; i < rowsKept; ++i)
        EXPECT_EQ(journal->rows()[i], sample[i]);
      for (size_t i = rowsKept; i < sample.size(); ++i)
        ASSERT_FALSE(journal->append(sample[i]));
    }
    EXPECT_EQ(bytes(), whole) << "cut at " << keep;
  }
}

TEST_F(JournalTest, ABlockOfZerosAtTheEndIsDropped) {
  writeSample();
  std::string whole = bytes();
  write(whole + std::string(100, '\0')); // as a file system may leave it
  Result<Journal> journal = Journal::open(path, columns);
  ASSERT_TRUE(journal);
  EXPECT_EQ(journal->rows(), sample);
  EXPECT_EQ(journal->droppedBytes(), 100u);
}

TEST_F(JournalTest, DamageBeforeTheEndIsAnErrorAndTheFileStays) {
  writeSample();
  std::string whole = bytes();
  size_t second = whole.find('\n') + 1;
  for (size_t at = second; at < whole.rfind('\n', whole.size() - 2); ++at) {
    std::string damaged = whole;
    damaged[at] = damaged[at] == '7' ? '8' : '7';
    write(damaged);
    Result<Journal> journal = Journal::open(path, columns);
    ASSERT_FALSE(journal) << at;
    EXPECT_NE(journal.failure().message.find("is damaged"), std::string::npos);
    EXPECT_EQ(bytes(), damaged);
  }
}

TEST_F(JournalTest, OtherFilesAreLeftAlone) {
  for (const char *other : {"notes\n", "a,b\n1,2\n", "a,b,c\n", "x"}) {
    write(other);
    Result<Journal> journal = Journal::open(path, columns);
    ASSERT_FALSE(journal) << other;
    EXPECT_EQ(bytes(), other);
  }
}

TEST_F(JournalTest, OneWriterAtATime) {
  Result<Journal> first = Journal::open(path, columns);
  ASSERT_TRUE(first);
  Result<Journal> second = Journal::open(path, columns);
  ASSERT_FALSE(second);
  EXPECT_NE(second.failure().message.find("another run"), std::string::npos);
}

TEST_F(JournalTest, AFileWithoutRowsGoesAway) {
  { Result<Journal> journal = Journal::open(path, columns); }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Csv, LinesRoundTrip) {
  for (const std::vector<std::string> &cells :
       {std::vector<std::string>{""}, {"", ""}, {"a", "b,c", "\"", "\"\"", "d e"}, {"x", ""}})
    EXPECT_EQ(parseCsvLine(csvLine(cells)), cells);
  EXPECT_EQ(csvLine({"two\nlines"}), "two lines");
  for (const char *bad : {"a\"b", "\"a", "\"a\"b,c"})
    EXPECT_FALSE(parseCsvLine(bad)) << bad;
}

} // namespace
} // namespace tilewright::profile
