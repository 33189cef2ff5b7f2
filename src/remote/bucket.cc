#include "remote/bucket.h"

#include <fmt/format.h>

#include <cstring>
#include <random>

#include "base/printable.h"

namespace dedupfs {
namespace {

constexpr std::size_t kMostObjectNameBytes = 900;  // S3 takes 1024, with the prefix

}  // namespace

ObjectSource object_of(ByteSpan bytes) {
  return {.size = bytes.size(),
          .sha256 = sha256_of(bytes),
          .read = [bytes](std::uint64_t offset, MutableByteSpan out) -> Result<void> {
            if (offset > bytes.size() || out.size() > bytes.size() - offset)
              return invalid_argument("beyond the object's end");
            if (!out.empty()) std::memcpy(out.data(), bytes.data() + offset, out.size());
            return {};
          }};
}

Result<void> check_object_name(std::string_view object) {
  const auto wrong = [&](std::string_view why) {
    return invalid_argument(fmt::format("object \"{}\": {}", printable(object), why));
  };
  if (object.size() > kMostObjectNameBytes)
    return invalid_argument(fmt::format("the name of an object has more than {} bytes", kMostObjectNameBytes));
  if (printable(object) != object) return wrong("its name is not plain text");
  for (std::string_view rest = object;;) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return wrong("a part of its name is empty, \".\" or \"..\"");
    if (slash == std::string_view::npos) return {};
    rest.remove_prefix(slash + 1);
  }
}

Result<ByteBuffer> read_object(Bucket& bucket, const std::string& object, std::uint64_t limit) {
  constexpr std::size_t kStep = 1 << 20;
  ByteBuffer bytes;
  for (;;) {
    const std::size_t filled = bytes.size();
    if (filled > limit) return corruption(fmt::format("{}/{} has more than {} bytes", bucket.name(), object, limit));
    bytes.resize(filled + kStep);
    DEDUPFS_ASSIGN(const std::size_t length, bucket.read(object, filled, MutableByteSpan(bytes).subspan(filled)));
    bytes.resize(filled + length);
    if (length < kStep) break;
  }
  if (bytes.size() > limit)
    return corruption(fmt::format("{}/{} has more than {} bytes", bucket.name(), object, limit));
  return bytes;
}

Result<void> probe(Bucket& bucket) {
  const std::string object =
      fmt::format("probe/{:016x}", std::random_device()() | static_cast<std::uint64_t>(std::random_device()()) << 32U);
  const std::string first = "first";
  const std::string second = "second";
  DEDUPFS_ASSIGN(const Bucket::Put made, bucket.put_new(object, object_of(bytes_of(first))));
  auto again = bucket.put_new(object, object_of(bytes_of(second)));
  // A store that keeps objects until a date keeps this one, too.
  if (const auto removed = bucket.remove(object); !removed && removed.error().code() != ErrorCode::kAccessDenied)
    return removed.error();
  DEDUPFS_TRY(again);
  // kSame: the first one was tried twice, since an answer was lost.
  if (made != Bucket::Put::kOther && *again == Bucket::Put::kOther) return {};
  return Error{
      ErrorCode::kUnsupported,
      bucket.name() +
          ": this store overwrites objects although it is asked not to (If-None-Match: *). Two machines that write "
          "to one volume would not notice each other. Use a store with conditional writes"};
}

}  // namespace dedupfs
