#include "analysis/import/proto/wire.h"

#include <fmt/format.h>

namespace tilewright {

namespace {

constexpr size_t mostFields = 1 << 22; ///< of one message: 160 MiB of memory

/// A number in groups of seven bits, the lowest first; false where it doesn't end.
bool readVarint(std::string_view bytes, size_t &at, uint64_t &out) {
  out = 0;
  for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    out |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

uint64_t littleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

} // namespace

bool WireError::fail(size_t at, std::string what) {
  if (!isSet)
    *this = {true, at, std::move(what)};
  return false;
}

WireMessage::WireMessage(std::string_view bytes, size_t begin, WireError &error)
    : begin(begin), error(&error) {
  for (size_t at = 0; at < bytes.size() && readField(bytes, at);)
    ;
}

bool WireMessage::readField(std::string_view bytes, size_t &at) {
  const size_t start = at;
  uint64_t tag, length;
  if (!readVarint(bytes, at, tag) || tag >> 3 == 0 || tag >> 3 >= 1u << 29)
    return error->fail(begin + start, "no field of a protocol buffer begins here");
  if (fields.size() == mostFields)
    return error->fail(begin + start, fmt::format("a message has over {} fields", mostFields));
  Field field{static_cast<uint32_t>(tag >> 3), static_cast<Kind>(tag & 7), begin + at, 0, {}};
  switch (field.kind) {
  case Kind::Varint:
    if (!readVarint(bytes, at, field.value))
      return error->fail(begin + start, fmt::format("field {} ends early", field.number));
    break;
  case Kind::Fixed32:
  case Kind::Fixed64:
    length = field.kind == Kind::Fixed32 ? 4 : 8;
    if (bytes.size() - at < length)
      return error->fail(begin + start, fmt::format("field {} ends early", field.number));
    field.value = littleEndian(bytes.substr(at, length));
    at += length;
    break;
  case Kind::Bytes:
    if (!readVarint(bytes, at, length) || length > bytes.size() - at)
      return error->fail(begin + start,
                         fmt::format("field {} should go on behind the end", field.number));
    field.offset = begin + at;
    field.bytes = bytes.substr(at, length);
    at += length;
    break;
  default:
    return error->fail(begin + start, fmt::format("field {} has wire type {}, which is not read",
                                                  field.number, tag & 7));
  }
  fields.push_back(field);
  return true;
}

const WireMessage::Field *WireMessage::last(uint32_t number) const {
  for (size_t i = fields.size(); i-- > 0;)
    if (fields[i].number == number)
      return &fields[i];
  return nullptr;
}

bool WireMessage::has(uint32_t number) const { return last(number); }

bool WireMessage::expect(const Field &field, bool isRight, std::string_view what) const {
  return isRight ||
         error->fail(field.offset, fmt::format("field {} is not {}", field.number, what));
}

int64_t WireMessage::integer(uint32_t number) const {
  const Field *field = last(number);
  if (!field || !expect(*field, field->kind != Kind::Bytes, "a number"))
    return 0;
  return static_cast<int64_t>(field->value);
}

std::string_view WireMessage::text(uint32_t number) const {
  const Field *field = last(number);
  return field && expect(*field, field->kind == Kind::Bytes, "a text") ? field->bytes
                                                                       : std::string_view();
}

std::vector<int64_t> WireMessage::integers(uint32_t number) const {
  std::vector<int64_t> out;
  for (const Field &field : fields) {
    if (field.number != number)
      continue;
    if (field.kind != Kind::Bytes)
      out.push_back(static_cast<int64_t>(field.value));
    for (size_t at = 0; field.kind == Kind::Bytes && at < field.bytes.size();) {
      uint64_t value;
      if (!readVarint(field.bytes, at, value)) {
        expect(field, false, "a list of numbers");
        break;
      }
      out.push_back(static_cast<int64_t>(value));
    }
  }
  return out;
}

std::vector<int64_t> WireMessage::fixed(uint32_t number, unsigned bytes) const {
  std::vector<int64_t> out;
  for (const Field &field : fields) {
    if (field.number != number)
      continue;
    if (field.kind != Kind::Bytes) {
      out.push_back(static_cast<int64_t>(field.value));
      continue;
    }
    if (!expect(field, field.bytes.size() % bytes == 0, "a list of numbers of this size"))
      break;
    for (size_t at = 0; at < field.bytes.size(); at += bytes)
      out.push_back(static_cast<int64_t>(littleEndian(field.bytes.substr(at, bytes))));
  }
  return out;
}

WireMessage WireMessage::message(uint32_t number) const {
  const Field *field = last(number);
  if (!field || !expect(*field, field->kind == Kind::Bytes, "a message")) {
    WireMessage none;
    none.begin = begin;
    none.error = error;
    return none;
  }
  return {field->bytes, field->offset, *error};
}

std::vector<WireMessage> WireMessage::messages(uint32_t number) const {
  std::vector<WireMessage> out;
  for (const Field &field : fields)
    if (field.number == number && !error->isSet &&
        expect(field, field.kind == Kind::Bytes, "a message"))
      out.push_back({field.bytes, field.offset, *error});
  return out;
}

std::vector<std::string_view> WireMessage::texts(uint32_t number) const {
  std::vector<std::string_view> out;
  for (const Field &field : fields)
    if (field.number == number && expect(field, field.kind == Kind::Bytes, "a text"))
      out.push_back(field.bytes);
  return out;
}

} // namespace tilewright
