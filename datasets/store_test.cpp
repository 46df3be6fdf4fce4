#include "datasets/store.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sstream>
#include <unistd.h>

namespace tilewright {

namespace {

namespace fs = std::filesystem;

class Store : public testing::Test {
protected:
  void SetUp() override {
    static std::atomic<int> number{0};
    folder = fs::temp_directory_path() /
             ("tilewright-store-" + std::to_string(getpid()) + "-" + std::to_string(number++));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string &name) const { return (folder / name).string(); }
  std::string index() const { return path(".tilewright-index.sqlite"); }
  void write(const std::string &name, const std::string &text,
             std::ios::openmode mode = std::ios::trunc) const {
    std::ofstream(path(name), std::ios::binary | mode) << text;
  }
  static std::string bytesOf(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  MeasurementStore open() const {
    std::string where = folder.string();
    auto store = MeasurementStore::open({&where, 1});
    if (!store) {
      ADD_FAILURE() << takeDiag(store.takeError()).str();
      throw std::runtime_error("no store");
    }
    return std::move(*store);
  }
  static std::vector<std::string> linesOf(MeasurementStore &store, const StoreFilter &filter = {}) {
    std::vector<std::string> lines;
    for (const StoredRow &row : llvm::cantFail(store.rows(filter)))
      lines.push_back(fmt::format("{}:{} {} {} {} {} {} {}", fs::path(row.file).filename().string(),
                                  row.line, row.key, row.device, row.driver,
                                  row.clockMhz.value_or(0), row.timeNs.value_or(-1), row.error));
    return lines;
  }
  /// What the files say, with no index at all.
  std::vector<std::string> truth() const {
    std::vector<std::string> files;
    for (const auto &entry : fs::directory_iterator(folder))
      if (entry.path().string().ends_with(".csv"))
        files.push_back(entry.path().string());
    auto store = llvm::cantFail(MeasurementStore::open(files));
    return linesOf(store);
  }

  fs::path folder;
};

const char *const header = "kernel,d0,device,driver,sm_clock_mhz,time_ns,error\n";

StoreFilter where(std::initializer_list<const char *> conditions) {
  StoreFilter filter;
  for (const char *condition : conditions)
    llvm::cantFail(filter.add(condition));
  return filter;
}

TEST_F(Store, ReadsWhatChangedAndNothingElse) {
  write("a.csv", std::string(header) + "g,1,H,580,1980,100,\ng,2,H,580,1980,,too large\n");
  write("b.csv", std::string(header) + "g,1,H,590,1755,90,\n");
  write("b.csv.counters.csv", "not,a,measurement\n");
  write("notes.txt", "not a table");
  {
    MeasurementStore store = open();
    EXPECT_EQ(store.filesRead().size(), 2u);
    EXPECT_EQ(store.note(), "");
    EXPECT_EQ(linesOf(store), truth());
  }
  EXPECT_TRUE(fs::exists(index()));
  EXPECT_TRUE(open().filesRead().empty());
  // A file that grows.
  write("a.csv", "g,3,H,580,1980,300,\n", std::ios::app);
  {
    MeasurementStore store = open();
    EXPECT_EQ(store.filesRead(), std::vector<std::string>{path("a.csv")});
    EXPECT_EQ(linesOf(store), truth());
    EXPECT_EQ(linesOf(store).size(), 4u);
  }
  // One that is replaced by another of the same length, one that goes, one that comes.
  write("b.csv", std::string(header) + "g,1,H,590,1755,91,\n");
  fs::remove(folder / "a.csv");
  write("c.csv", std::string(header) + "h,1,H,590,1755,5,\n");
  {
    MeasurementStore store = open();
    EXPECT_EQ(linesOf(store), truth());
    EXPECT_EQ(linesOf(store).size(), 2u);
  }
  EXPECT_TRUE(open().filesRead().empty());
}

TEST_F(Store, FiltersByDeviceDriverClockAndPlan) {
  write("a.csv", std::string(header) + "gemm,1,H100 SXM,580.1,1980,100,\n"
                                       "gemm,1,H100 SXM,590.2,1980,90,\ngemm,1,L4,590.2,,400,\n"
                                       "copy[1],1,L4,590.2,2040.5,4,\n");
  MeasurementStore store = open();
  auto count = [&](std::initializer_list<const char *> conditions) {
    return llvm::cantFail(store.rows(where(conditions))).size();
  };
  EXPECT_EQ(count({}), 4u);
  EXPECT_EQ(count({"device=H100*"}), 2u);
  EXPECT_EQ(count({"device=H100*", "driver=590.?"}), 1u);
  EXPECT_EQ(count({"sm_clock_mhz=1980"}), 2u);
  EXPECT_EQ(count({"sm_clock_mhz=2040.5"}), 1u);
  EXPECT_EQ(count({"sm_clock_mhz="}), 1u);
  EXPECT_EQ(count({"kernel=copy[1]"}), 1u); // brackets stand for themselves
  EXPECT_EQ(count({"kernel='; drop table rows; --"}), 0u);
  EXPECT_EQ(count({}), 4u);
  // The same measurement on several devices has one key.
  std::vector<StoredRow> rows = llvm::cantFail(store.rows());
  EXPECT_EQ(rows[0].planHash, rows[2].planHash);
  EXPECT_NE(rows[0].planHash, rows[3].planHash);
  EXPECT_EQ(count({("plan_hash=" + rows[0].planHash).c_str()}), 3u);
  // Series: one for each set of conditions.
  EXPECT_EQ(llvm::cantFail(store.series()).size(), 4u);
  std::vector<StoredSeries> some = llvm::cantFail(store.series(where({"device=H100*"})));
  ASSERT_EQ(some.size(), 2u);
  EXPECT_EQ(some[0].driver, "580.1");
  EXPECT_EQ(some[0].times, 1);
  for (const char *bad : {"speed=1", "device", "=x", "time_ns;drop table rows=1"}) {
    StoreFilter filter;
    llvm::Error error = filter.add(bad);
    ASSERT_TRUE(static_cast<bool>(error)) << bad;
    EXPECT_NE(takeDiag(std::move(error)).message.find("driver"), std::string::npos);
  }
}

/// Whatever is done to the index, the answers are those of the files, and these stay as they are.
TEST_F(Store, ADamagedIndexIsMadeAnew) {
  std::string text = header;
  for (int i = 0; i < 400; ++i)
    text += fmt::format("kernel{},{},H,580,1980,{},\n", i % 7, i, 100 + i);
  write("a.csv", text);
  write("b.csv", std::string(header) + "g,1,H,590,1755,90,\n");
  const std::vector<std::string> expected = truth();
  open();
  const std::string good = bytesOf(index());
  ASSERT_GT(good.size(), 8192u);
  std::mt19937 random(7);
  for (int attempt = 0; attempt < 60; ++attempt) {
    std::string bad = good;
    switch (attempt % 4) {
    case 0:
      bad.resize(random() % bad.size());
      break;
    case 1: // a page of rubbish
      for (size_t at = random() % (bad.size() / 4096) * 4096, i = 0; i < 4096; ++i)
        bad[at + i] = static_cast<char>(random());
      break;
    case 2:
      for (int i = 0; i < 20; ++i)
        bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
      break;
    default:
      bad = "this is no database at all, but a text that somebody put here";
    }
    std::ofstream(index(), std::ios::binary | std::ios::trunc) << bad;
    MeasurementStore store = open();
    EXPECT_EQ(linesOf(store), expected) << attempt;
    EXPECT_EQ(bytesOf(path("a.csv")), text);
  }
  // After all that it is kept and used again.
  fs::remove(index());
  open();
  EXPECT_TRUE(open().filesRead().empty());
  // An index of another version.
  {
    Database database = llvm::cantFail(Database::open(index()));
    llvm::cantFail(database.run("pragma user_version = 99"));
  }
  MeasurementStore store = open();
  EXPECT_NE(store.note().find("made anew"), std::string::npos) << store.note();
  EXPECT_EQ(linesOf(store), expected);
}

TEST_F(Store, AnIndexThatCantBeKeptIsNoHindrance) {
  write("a.csv", std::string(header) + "g,1,H,580,1980,100,\n");
  fs::create_directory(index()); // in the way, whatever rights we have
  std::ofstream(index() + "/file") << "x";
  MeasurementStore store = open();
  EXPECT_NE(store.note().find("not kept"), std::string::npos) << store.note();
  EXPECT_EQ(linesOf(store).size(), 1u);
  EXPECT_TRUE(fs::exists(index() + "/file"));
}

TEST_F(Store, ErrorsNameTheFileAndLeaveTheIndexWhole) {
  write("a.csv", std::string(header) + "g,1,H,580,1980,100,\n");
  open();
  write("b.csv", std::string(header) + "g,1,H,580,fast,100,\n");
  std::string whole = folder.string();
  auto store = MeasurementStore::open({&whole, 1});
  ASSERT_FALSE(static_cast<bool>(store));
  Diag diag = takeDiag(store.takeError());
  EXPECT_NE(diag.str().find("b.csv:2"), std::string::npos) << diag.str();
  fs::remove(folder / "b.csv");
  EXPECT_TRUE(open().filesRead().empty());
  std::string missing = path("none.csv"), empty = path("empty");
  fs::create_directory(empty);
  for (const std::string &bad : {missing, empty}) {
    auto none = MeasurementStore::open({&bad, 1});
    ASSERT_FALSE(static_cast<bool>(none)) << bad;
    llvm::consumeError(none.takeError());
  }
}

/// Later attempts count, incumbents don't; both can be asked for.
TEST_F(Store, RowsThatDoNotCountAreKeptApart) {
  write("a.csv", "role,attempt,kernel,problem,plan,plan_hash,regime,uuid,time_ns\n"
                 "measure,1,k,p,t0=1,h1,cold,u,100\nincumbent,1,k,p,t0=1,h1,cold,u,101\n"
                 "measure,2,k,p,t0=1,h1,cold,u,102\nmeasure,1,k,p,t0=1,h1,warm,u,50\n");
  MeasurementStore store = open();
  std::vector<StoredRow> rows = llvm::cantFail(store.rows());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].timeNs, 102);
  EXPECT_EQ(rows[0].planHash, "h1");
  StoreFilter all;
  all.all = true;
  EXPECT_EQ(llvm::cantFail(store.rows(all)).size(), 4u);
  std::vector<StoredFile> files = llvm::cantFail(store.files());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].rows, 4);
  EXPECT_EQ(files[0].timed, 2);
  EXPECT_EQ(files[0].leastNs, 50);
}

} // namespace
} // namespace tilewright
