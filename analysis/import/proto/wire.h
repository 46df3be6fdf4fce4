// Protocol buffers as bytes: fields with their numbers, and where they stand.
//
// https://protobuf.dev/programming-guides/encoding. A message is read one level deep; what its
// fields mean is the caller's to know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// The first thing that is wrong with the bytes.
struct WireError {
  bool isSet = false;
  size_t offset = 0; ///< in the file
  std::string message;
  bool fail(size_t at, std::string what);
};

/// The fields of one message. Fields that are missing have the value that the format gives them: 0,
/// an empty text. Of those that stand twice and should not, the last counts. Reading a field as
/// something that it is not sets the error.
class WireMessage {
public:
  WireMessage() = default;
  /// All bytes of a file.
  WireMessage(std::string_view bytes, WireError &error) : WireMessage(bytes, 0, error) {}

  bool has(uint32_t number) const;
  int64_t integer(uint32_t number) const;
  bool flag(uint32_t number) const { return integer(number) != 0; }
  std::string_view text(uint32_t number) const;
  /// A repeated number, packed or not; of 4 or 8 bytes each as their bit patterns.
  std::vector<int64_t> integers(uint32_t number) const;
  std::vector<int64_t> fixed(uint32_t number, unsigned bytes) const;
  WireMessage message(uint32_t number) const;
  std::vector<WireMessage> messages(uint32_t number) const;
  std::vector<std::string_view> texts(uint32_t number) const;

  size_t offset() const { return begin; } ///< of the message in the file

private:
  enum class Kind : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
  struct Field {
    uint32_t number;
    Kind kind;
    size_t offset;          ///< of the value in the file
    uint64_t value = 0;     ///< of a number
    std::string_view bytes; ///< of Bytes
  };
  WireMessage(std::string_view bytes, size_t begin, WireError &error);
  bool readField(std::string_view bytes, size_t &at);
  const Field *last(uint32_t number) const;
  bool expect(const Field &field, bool isRight, std::string_view what) const;

  std::vector<Field> fields;
  size_t begin = 0;
  WireError *error = nullptr;
};

} // namespace tilewright
