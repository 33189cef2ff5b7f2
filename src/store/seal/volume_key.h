// The master key of a volume, those that it had before, and the keys that are made from them.
//
// Master keys have numbers, 1 and more. The current one, which has the highest number, seals all that is written. A former one opens
// what was sealed before a rotation, until nothing of that is left.
//
// Threads:   any thread.
// Ownership: shared by all who read or write files of the volume.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "store/seal/cipher.h"
#include "store/seal/sealed_layout.h"

namespace dedupfs {

struct NumberedKey {
  std::uint32_t number = 0;
  Secret master;
};

class VolumeKey {
 public:
  VolumeKey(Cipher cipher, Secret master) : VolumeKey(cipher, {.number = kFirstKey, .master = std::move(master)}, {}) {}
  // The numbers of the former ones are lower, and each is there once.
  VolumeKey(Cipher cipher, NumberedKey current, std::vector<NumberedKey> former)
      : cipher_(cipher), keys_(std::move(former)) {
    keys_.push_back(std::move(current));
    std::ranges::sort(keys_, std::ranges::greater(), &NumberedKey::number);
    numbers_.reserve(keys_.size());
    for (const NumberedKey& key : keys_) numbers_.push_back(key.number);
  }
  static Secret make_master();
  static constexpr std::uint32_t kFirstKey = 1;

  Cipher cipher() const { return cipher_; }
  std::uint32_t number() const { return numbers_.front(); }
  ByteSpan master() const { return keys_.front().master.bytes(); }
  // The current one first, then the former ones, the newest first.
  const std::vector<std::uint32_t>& numbers() const { return numbers_; }
  const std::vector<NumberedKey>& all() const { return keys_; }
  bool has(std::uint32_t number) const { return std::ranges::find(numbers_, number) != numbers_.end(); }
  bool has_former() const { return numbers_.size() > 1; }

  // The key of what stands behind `salt` in a file. `place` says which file that is, so a file in the place of another cannot be
  // opened. `number`: one of numbers().
  Secret file_key(std::uint32_t number, const SealSalt& salt, std::string_view purpose, std::string_view place) const {
    const auto key = std::ranges::find(keys_, number, &NumberedKey::number);
    DEDUPFS_CHECK(key != keys_.end());
    std::string info;
    for (const std::string_view part : {std::string_view("dedupfs"), purpose, place}) {
      info += part;
      info.push_back('\0');
    }
    return hkdf_sha256(key->master.bytes(), salt, bytes_of(info), kCipherKeyBytes);
  }

 private:
  const Cipher cipher_;
  std::vector<NumberedKey> keys_;
  std::vector<std::uint32_t> numbers_;
};

inline Secret VolumeKey::make_master() {
  Secret master(kCipherKeyBytes);
  fill_randomly(master.bytes());
  return master;
}

}  // namespace dedupfs
