#include "analysis/import/numpy/zip.h"

#include "analysis/support/printable.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <zlib.h>

namespace tilewright {

namespace {

// Signatures and sizes of records (PKWARE's APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16).
constexpr std::string_view localSignature("PK\3\4", 4), entrySignature("PK\1\2", 4),
    endSignature("PK\5\6", 4);
constexpr size_t localSize = 30, entrySize = 46, endSize = 22, mostComment = 65535;
constexpr uint64_t isInZip64 = 0xffffffff;

class Archive {
public:
  Archive(const std::string &name, std::string_view bytes, uint64_t maxBytes)
      : name(name), bytes(bytes), maxBytes(maxBytes) {}

  llvm::Expected<std::vector<ZipMember>> read();

private:
  template <typename... Args>
  llvm::Error error(uint64_t at, fmt::format_string<Args...> format, Args &&...args) const {
    return makeError(DiagClass::BadInput, "{}: byte {}: {}", name, at,
                     fmt::format(format, std::forward<Args>(args)...));
  }
  bool has(uint64_t at, uint64_t count) const {
    return at <= bytes.size() && count <= bytes.size() - at;
  }
  /// A little-endian number. Precondition: it is there.
  uint64_t number(uint64_t at, unsigned size) const {
    uint64_t value = 0;
    for (unsigned i = size; i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
  }
  struct Entry {
    std::string name;
    uint64_t method, packed, unpacked, local, crc, flags;
  };
  /// 64-bit sizes stand in an extra field, those alone that don't fit into 32 bits, in this order.
  void widen(Entry &entry, std::string_view extra) const;
  llvm::Expected<ZipMember> member(const Entry &entry, uint64_t at);
  llvm::Expected<std::string> inflated(const Entry &entry, std::string_view packed) const;

  const std::string &name;
  std::string_view bytes;
  uint64_t maxBytes, total = 0;
};

void Archive::widen(Entry &entry, std::string_view extra) const {
  constexpr uint64_t zip64 = 1;
  const uint64_t begin = static_cast<uint64_t>(extra.data() - bytes.data());
  for (uint64_t at = 0; at + 4 <= extra.size();) {
    const uint64_t id = number(begin + at, 2), size = number(begin + at + 2, 2);
    if (size > extra.size() - at - 4)
      return;
    if (id == zip64) {
      uint64_t field = at + 4;
      for (uint64_t *value : {&entry.unpacked, &entry.packed, &entry.local})
        if (*value == isInZip64 && field + 8 <= at + 4 + size) {
          *value = number(begin + field, 8);
          field += 8;
        }
    }
    at += 4 + size;
  }
}

llvm::Expected<std::string> Archive::inflated(const Entry &entry, std::string_view packed) const {
  // Deflate makes at most 1032 bytes of one: what is said is not believed before memory is taken.
  if (entry.unpacked / 1032 > packed.size())
    return error(static_cast<uint64_t>(packed.data() - bytes.data()),
                 "{} can't unpack to the {} bytes that the archive says", entry.name,
                 entry.unpacked);
  std::string out(entry.unpacked, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return makeError(DiagClass::BudgetSpent, "{}: out of memory while unpacking", name);
  // zlib counts in 32 bits.
  constexpr size_t most = size_t(1) << 30;
  size_t read = 0, written = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    const size_t in = std::min(most, packed.size() - read);
    const size_t room = std::min(most, out.size() - written);
    char none = 0;
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef *>(room ? out.data() + written : &none);
    stream.avail_out = static_cast<uInt>(room);
    state = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += room - stream.avail_out;
    if (state == Z_OK && in == stream.avail_in && room == stream.avail_out)
      break;
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END || written != out.size() || read != packed.size())
    return error(static_cast<uint64_t>(packed.data() - bytes.data()) + read,
                 "{} does not unpack to the {} bytes that the archive says", entry.name,
                 entry.unpacked);
  return out;
}

llvm::Expected<ZipMember> Archive::member(const Entry &entry, uint64_t at) {
  if (entry.flags & 1)
    return error(at, "{} is encrypted", entry.name);
  if (!has(entry.local, localSize) || bytes.substr(entry.local, 4) != localSignature)
    return error(at, "{} is said to begin at byte {}, where no member does", entry.name,
                 entry.local);
  const uint64_t begin =
      entry.local + localSize + number(entry.local + 26, 2) + number(entry.local + 28, 2);
  if (!has(begin, entry.packed))
    return error(begin, "{} has {} bytes by the directory, and the file ends before", entry.name,
                 entry.packed);
  if (entry.unpacked > maxBytes - total)
    return error(at, "the archive unpacks to over {} bytes", maxBytes);
  total += entry.unpacked;
  const std::string_view packed = bytes.substr(begin, entry.packed);
  ZipMember result{entry.name, {}};
  if (entry.method == 0 && entry.packed == entry.unpacked) {
    result.bytes = packed;
  } else if (entry.method == Z_DEFLATED) {
    llvm::Expected<std::string> out = inflated(entry, packed);
    if (!out)
      return out.takeError();
    result.bytes = std::move(*out);
  } else {
    return error(at, "{} is packed by method {}; save it uncompressed, or by deflate", entry.name,
                 entry.method);
  }
  const uLong crc =
      crc32_z(0, reinterpret_cast<const Bytef *>(result.bytes.data()), result.bytes.size());
  if (crc != entry.crc)
    return error(begin, "{} has the CRC {:08x}, and {:08x} by the directory", entry.name, crc,
                 entry.crc);
  return result;
}

llvm::Expected<std::vector<ZipMember>> Archive::read() {
  const size_t from =
      bytes.size() < endSize + mostComment ? 0 : bytes.size() - endSize - mostComment;
  const size_t end = bytes.rfind(endSignature);
  if (end == std::string_view::npos || end < from || !has(end, endSize))
    return error(bytes.size(), "the archive's directory is missing: it is cut off");
  const uint64_t count = number(end + 10, 2);
  if (number(end + 4, 2) != 0 || number(end + 8, 2) != count || count == 0xffff)
    return error(end, "the archive has too many members, or spans several files");
  uint64_t at = number(end + 16, 4);
  std::vector<ZipMember> members;
  for (uint64_t i = 0; i < count; ++i) {
    if (!has(at, entrySize) || bytes.substr(at, 4) != entrySignature)
      return error(at, "entry {} of {} in the archive's directory is missing", i + 1, count);
    const uint64_t nameSize = number(at + 28, 2), extraSize = number(at + 30, 2);
    const uint64_t size = entrySize + nameSize + extraSize + number(at + 32, 2);
    if (!has(at, size))
      return error(at, "entry {} in the archive's directory is cut off", i + 1);
    Entry entry{printable(bytes.substr(at + entrySize, nameSize)),
                number(at + 10, 2),
                number(at + 20, 4),
                number(at + 24, 4),
                number(at + 42, 4),
                number(at + 16, 4),
                number(at + 8, 2)};
    widen(entry, bytes.substr(at + entrySize + nameSize, extraSize));
    llvm::Expected<ZipMember> read = member(entry, at);
    if (!read)
      return read.takeError();
    members.push_back(std::move(*read));
    at += size;
  }
  return members;
}

} // namespace

bool isZip(std::string_view bytes) {
  return bytes.starts_with(localSignature) || bytes.starts_with(endSignature);
}

llvm::Expected<std::vector<ZipMember>> readZip(const std::string &name, std::string_view bytes,
                                               uint64_t maxBytes) {
  return Archive(name, bytes, maxBytes).read();
}

} // namespace tilewright
