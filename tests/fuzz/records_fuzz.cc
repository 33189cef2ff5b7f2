// Any bytes as a key or value of the namespace, or of the indexes of chunks: decoding succeeds or is kCorruption, and what was decoded and encoded again
// decodes to the same. And any bytes as an access control list from the kernel.
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/check.h"
#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "fs/namespace/posix_acl.h"
#include "store/chunks/chunk_index.h"
#include "store/metadata/before_images.h"

namespace {

using namespace dedupfs;

template <class T>
bool decoded(const Result<T>& result) {
  DEDUPFS_CHECK(result || result.error().code() == ErrorCode::kCorruption);
  return result.has_value();
}

void fuzz_values(std::string_view value) {
  if (const auto record = decode_inode(7, value); decoded(record))
    DEDUPFS_CHECK(decode_inode(7, encode_inode(*record)).value() == *record);
  if (const auto dirent = decode_dirent(7, value); decoded(dirent))
    DEDUPFS_CHECK(decode_dirent(7, encode_dirent(*dirent)).value() == *dirent);
  if (const auto entry = decode_cookie_entry(7, value); decoded(entry))
    DEDUPFS_CHECK(decode_cookie_entry(7, encode_cookie_entry(*entry)).value() == *entry);
  if (const auto counter = decode_counter("counter", value); decoded(counter))
    DEDUPFS_CHECK(encode_counter(*counter) == value);
  if (const auto snapshot = decode_snapshot(7, value); decoded(snapshot))
    DEDUPFS_CHECK(decode_snapshot(7, encode_snapshot(*snapshot)).value() == *snapshot);
  if (const auto image = decode_before_image(value); decoded(image))
    DEDUPFS_CHECK(encode_before_image(*image) == value);
  if (const auto id = decode_chunk_id(value); decoded(id))
    DEDUPFS_CHECK(decode_chunk_id(encode_chunk_id(*id)).value() == *id);
}

void fuzz_keys(std::string_view key) {
  if (const auto inode = decode_inode_key(key); decoded(inode)) DEDUPFS_CHECK(encode_inode_key(*inode) == key);
  if (const auto place = decode_dirent_key(key); decoded(place))
    DEDUPFS_CHECK(encode_dirent_key(place->parent, place->name) == key);
  if (const auto place = decode_cookie_key(key); decoded(place))
    DEDUPFS_CHECK(encode_cookie_key(place->parent, place->cookie) == key);
  if (const auto place = decode_xattr_key(key); decoded(place))
    DEDUPFS_CHECK(encode_xattr_key(place->inode, place->name) == key);
  if (const auto place = decode_recipe_key(key); decoded(place))
    DEDUPFS_CHECK(encode_recipe_key(place->inode, place->offset) == key);
}

void fuzz_keys_of_snapshots(std::string_view key) {
  if (const auto number = decode_snapshot_key(key); decoded(number)) DEDUPFS_CHECK(encode_snapshot_key(*number) == key);
  if (const auto image = decode_before_image_key(key); decoded(image))
    DEDUPFS_CHECK(encode_before_image_key(image->family, image->key, image->number) == key);
}

void fuzz_acl(std::string_view value) {
  const auto acl = PosixAcl::decode(value);
  if (!acl || acl->empty()) return;
  const auto again = PosixAcl::decode(acl->encode());
  DEDUPFS_CHECK(again && again->entries() == acl->entries());
  DEDUPFS_CHECK(acl->permissions() <= 0777);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = text_of({data, size});
  fuzz_values(input);
  fuzz_keys(input);
  fuzz_keys_of_snapshots(input);
  fuzz_acl(input);
  return 0;
}
