#include "analysis/import/numpy/npy.h"
#include "analysis/import/numpy/zip.h"
#include "analysis/ir/literal.h"

#include <gtest/gtest.h>
#include <zlib.h>

using namespace tilewright;

namespace {

std::string little(uint64_t value, unsigned bytes) {
  std::string out;
  for (unsigned i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> (8 * i));
  return out;
}

std::string npy(const std::string &header, const std::string &elements, unsigned version = 1) {
  const unsigned lengthBytes = version == 1 ? 2 : 4;
  return std::string("\x93NUMPY", 6) + static_cast<char>(version) + '\0' +
         little(header.size(), lengthBytes) + header + elements;
}

std::string header(const std::string &descr, const std::string &shape,
                   const std::string &order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

std::string problemOf(const std::string &bytes) {
  auto arrays = parseNumpy("x.npy", bytes);
  return arrays ? "" : takeDiag(arrays.takeError()).message;
}

/// The tensor, or why there is none.
std::string valuesOf(const std::string &bytes, const Shape &shape) {
  auto arrays = parseNumpy("x.npy", bytes);
  if (!arrays)
    return takeDiag(arrays.takeError()).message;
  llvm::Expected<Tensor> tensor = tensorOf(arrays->front(), shape);
  if (!tensor)
    return takeDiag(tensor.takeError()).message;
  std::string out;
  for (int64_t i = 0; i < tensor->size(); ++i)
    out += fmt::format("{} ", tensor->asDouble(i));
  return out;
}

/// A zip of these members, each stored or deflated.
std::string zipOf(const std::vector<std::pair<std::string, std::string>> &members,
                  bool isDeflated) {
  std::string out, directory;
  for (const auto &[name, bytes] : members) {
    std::string packed = bytes;
    if (isDeflated) {
      z_stream stream{};
      EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
      packed.resize(deflateBound(&stream, bytes.size()));
      stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
      stream.avail_in = static_cast<uInt>(bytes.size());
      stream.next_out = reinterpret_cast<Bytef *>(packed.data());
      stream.avail_out = static_cast<uInt>(packed.size());
      EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
      packed.resize(stream.total_out);
      deflateEnd(&stream);
    }
    const uint64_t crc =
        crc32(0, reinterpret_cast<const Bytef *>(bytes.data()), static_cast<uInt>(bytes.size()));
    // As numpy writes it: sizes of 64 bits in the local header, of 32 in the directory.
    const std::string common =
        little(0, 2) + little(isDeflated ? 8 : 0, 2) + little(0, 4) + little(crc, 4);
    const std::string extra =
        little(1, 2) + little(16, 2) + little(bytes.size(), 8) + little(packed.size(), 8);
    directory += "PK\1\2" + little(45, 2) + little(45, 2) + common + little(packed.size(), 4) +
                 little(bytes.size(), 4) + little(name.size(), 2) + little(0, 12) +
                 little(out.size(), 4) + name;
    out += "PK\3\4" + little(45, 2) + common + little(0xffffffff, 4) + little(0xffffffff, 4) +
           little(name.size(), 2) + little(extra.size(), 2) + name + extra + packed;
  }
  const uint64_t at = out.size();
  return out + directory + "PK\5\6" + little(0, 4) + little(members.size(), 2) +
         little(members.size(), 2) + little(directory.size(), 4) + little(at, 4) + little(0, 2);
}

const Shape s32x3 = Shape::tensor(DType::S32, {3});

} // namespace

TEST(Npy, ReadsPlainTypes) {
  const std::string three = little(1, 4) + little(2, 4) + little(0xfffffffd, 4);
  EXPECT_EQ(valuesOf(npy(header("<i4", "(3,)"), three), s32x3), "1 2 -3 ");
  EXPECT_EQ(valuesOf(npy(header("<i4", "(3,)"), three, 2), s32x3), "1 2 -3 ");
  EXPECT_EQ(
      valuesOf(npy(header("|b1", "(2,)"), std::string("\1\0", 2)), Shape::tensor(DType::Pred, {2})),
      "1 0 ");
  EXPECT_EQ(
      valuesOf(npy(header("<f4", "()"), little(0x40490fdb, 4)), Shape::tensor(DType::F32, {})),
      "3.1415927410125732 ");
  EXPECT_EQ(valuesOf(npy(header("<f8", "(0, 4)"), ""), Shape::tensor(DType::F64, {0, 4})), "");
}

TEST(Npy, ReadsColumnMajorOrder) {
  std::string elements;
  for (uint64_t i : {0, 3, 1, 4, 2, 5})
    elements += little(i, 2);
  EXPECT_EQ(
      valuesOf(npy(header("<u2", "(2, 3)", "True"), elements), Shape::tensor(DType::U16, {2, 3})),
      "0 1 2 3 4 5 ");
}

// As ml_dtypes saves them.
TEST(Npy, ReadsTypesThatNumpyDoesNotKnow) {
  EXPECT_EQ(valuesOf(npy(header("<V2", "(2,)"), little(0x3f80, 2) + little(0xc000, 2)),
                     Shape::tensor(DType::BF16, {2})),
            "1 -2 ");
  EXPECT_EQ(valuesOf(npy(header("|V1", "(2,)"), little(0x38, 1) + little(0xb8, 1)),
                     Shape::tensor(DType::F8E4M3FN, {2})),
            "1 -1 ");
  EXPECT_EQ(valuesOf(npy(header("|V1", "(2,)"), little(0x07, 1) + little(0x0f, 1)),
                     Shape::tensor(DType::S4, {2})),
            "7 -1 ");
}

TEST(Npy, TakesOtherTypesWhereValuesStay) {
  EXPECT_EQ(
      valuesOf(npy(header("<i8", "(3,)"), little(1, 8) + little(2, 8) + little(-3, 8)), s32x3),
      "1 2 -3 ");
  EXPECT_EQ(
      valuesOf(npy(header("<f4", "()"), little(0x3f800000, 4)), Shape::tensor(DType::BF16, {})),
      "1 ");
  EXPECT_EQ(
      valuesOf(npy(header("<f4", "()"), little(0x3dcccccd, 4)), Shape::tensor(DType::BF16, {})),
      "x.npy: element 0 of its 1 has a value that no bf16 has");
  EXPECT_EQ(valuesOf(npy(header("<i8", "()"), little(uint64_t(1) << 40, 8)),
                     Shape::tensor(DType::S32, {})),
            "x.npy: element 0 of its 1 has a value that no s32 has");
  EXPECT_EQ(valuesOf(npy(header("<i8", "()"), little(-1, 8)), Shape::tensor(DType::U64, {})),
            "x.npy: element 0 of its 1 has a value that no u64 has");
  EXPECT_EQ(valuesOf(npy(header("<c8", "()"), little(0, 8)), Shape::tensor(DType::F32, {})),
            "x.npy: elements of type '<c8' can't be f32");
  EXPECT_EQ(valuesOf(npy(header("<i4", "(1, 3)"), little(0, 12)), s32x3),
            "x.npy: its shape is [1,3], s32[3] is needed");
}

TEST(Npy, RefusesWhatIsNoArray) {
  EXPECT_EQ(problemOf("hello"), "x.npy: byte 0: this is no array of numpy: it begins with "
                                "\\x93NUMPY; save it with numpy.save");
  EXPECT_EQ(problemOf(npy("{'descr': '<i4'", "")), "x.npy: byte 25: a comma is expected");
  EXPECT_EQ(
      problemOf(npy(header("|O", "(3,)"), "")),
      "x.npy: byte 10: elements of type '|O' are not read; booleans, integers and floats are");
  EXPECT_EQ(problemOf(npy(header(">i4", "()"), little(0, 4))),
            "x.npy: byte 10: its bytes are in big-endian order; save it with .astype of the native "
            "one");
  EXPECT_EQ(problemOf(npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': ()}", "")),
            "x.npy: byte 20: descr is no plain type; records and objects are not read");
  EXPECT_EQ(problemOf(npy("{'descr': '<i4', 'descr': '<i4'}", "")),
            "x.npy: byte 35: 'descr' is no key of a header, or stands twice");
  EXPECT_NE(problemOf(npy(header("<i4", "(-1,)"), "")).find("shape can't be read"),
            std::string::npos);
  EXPECT_NE(problemOf(npy(header("<i8", "(4294967296, 4294967296)"), "")).find("than any file has"),
            std::string::npos);
  EXPECT_NE(
      problemOf(npy(header("<i4", "(3,)"), little(0, 11))).find("11 bytes of elements follow"),
      std::string::npos);
  EXPECT_NE(
      problemOf(npy(header("<i4", "(3,)"), little(0, 13))).find("13 bytes of elements follow"),
      std::string::npos);
}

// Cut off anywhere, or with any byte changed, it is read or refused.
TEST(Npy, DamagedFilesAreRefused) {
  const std::string whole = npy(header("<i4", "(3,)"), little(7, 12));
  const std::string packed = zipOf({{"a.npy", whole}, {"b.npy", whole}}, true);
  for (const std::string &bytes : {whole, packed}) {
    EXPECT_EQ(problemOf(bytes), "");
    for (size_t size = 0; size < bytes.size(); ++size)
      EXPECT_NE(problemOf(bytes.substr(0, size)), "") << size;
    for (size_t at = 0; at < bytes.size(); ++at)
      for (int bit = 0; bit < 8; ++bit) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
        valuesOf(changed, s32x3);
      }
  }
}

TEST(Npz, HoldsArraysByName) {
  const std::string one = npy(header("<i4", "(3,)"), little(1, 4) + little(2, 4) + little(3, 4));
  const std::string other = npy(header("<f4", "()"), little(0x3f800000, 4));
  for (bool isDeflated : {false, true}) {
    auto arrays = parseNumpy("w.npz", zipOf({{"x.npy", one}, {"layer/b.npy", other}}, isDeflated));
    ASSERT_TRUE(static_cast<bool>(arrays)) << takeDiag(arrays.takeError()).message;
    ASSERT_EQ(arrays->size(), 2u);
    EXPECT_EQ((*arrays)[0].key, "x");
    EXPECT_EQ((*arrays)[1].key, "layer/b");
    EXPECT_EQ(llvm::cantFail(tensorOf((*arrays)[0], s32x3)).integer(2), 3);
  }
  EXPECT_EQ(llvm::cantFail(parseNumpy("w.npz", zipOf({}, false))).size(), 0u);
}

TEST(Npz, WrongChecksumsAndLargeArchivesAreRefused) {
  std::string zip = zipOf({{"x.npy", "abc"}}, false);
  zip[zip.find("abc")] = 'A';
  auto members = readZip("w.npz", zip);
  ASSERT_FALSE(static_cast<bool>(members));
  EXPECT_NE(takeDiag(members.takeError()).message.find("CRC"), std::string::npos);
  auto large = readZip("w.npz", zipOf({{"x.npy", std::string(1000, 'a')}}, true), 999);
  ASSERT_FALSE(static_cast<bool>(large));
  EXPECT_NE(takeDiag(large.takeError()).message.find("over 999 bytes"), std::string::npos);
}
