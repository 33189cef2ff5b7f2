// What of the keys of a volume is left in the memory of a process that has closed it: nothing, neither in locked memory nor in that of
// OpenSSL, of libargon2 or on the stack.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "store/seal/key_header.h"
#include "store/seal/sealed_folder.h"
#include "support/child_process.h"
#include "support/memory_disk.h"
#include "support/sanitized.h"

namespace dedupfs {
namespace {

constexpr std::uint8_t kMask = 0x5a;

// Bytes to look for, kept so that the search does not find themselves.
using Masked = std::array<std::uint8_t, kCipherKeyBytes>;

Masked masked(ByteSpan bytes) {
  Masked result{};
  std::ranges::transform(bytes, result.begin(), [](std::uint8_t byte) { return byte ^ kMask; });
  return result;
}

// The memory of a process that has run other tests is large, so the C library looks for the first byte.
bool has(ByteSpan memory, const Masked& wanted) {
  const auto is_it = [](std::uint8_t byte, std::uint8_t other) { return byte == (other ^ kMask); };
  while (memory.size() >= wanted.size()) {
    const void* const first = std::memchr(memory.data(), wanted[0] ^ kMask, memory.size() - wanted.size() + 1);
    if (first == nullptr) return false;
    memory = memory.subspan(static_cast<std::size_t>(static_cast<const std::uint8_t*>(first) - memory.data()));
    if (std::equal(wanted.begin(), wanted.end(), memory.begin(),
                   [&](auto other, auto byte) { return is_it(byte, other); }))
      return true;
    memory = memory.subspan(1);
  }
  return false;
}

// The mappings of this process that can be written to and have it.
std::vector<std::string> places_of(const Masked& wanted) {
  std::vector<std::string> found;
  std::ifstream maps("/proc/self/maps");
  const UniqueFd memory(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  std::vector<std::uint8_t> content;
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    char dash = 0;
    std::string rights;
    std::istringstream(line) >> std::hex >> begin >> dash >> end >> rights;
    if (!rights.starts_with("rw")) continue;
    content.resize(end - begin);
    const ssize_t got = ::pread(memory.get(), content.data(), content.size(), static_cast<off_t>(begin));
    if (got > 0 && has(ByteSpan(content).first(static_cast<std::size_t>(got)), wanted)) found.push_back(line);
    std::ranges::fill(content, std::uint8_t{0});
  }
  return found;
}

class TracesOfSecrets : public testing::Test {
 protected:
  // In a process of its own, since other tests leave what they want.
  static void look(const std::function<void()>& body) {
    if (kSanitized) GTEST_SKIP() << "sanitizers keep what was freed";
    in_child_process(body);
  }
};

struct Needles {
  Masked passphrase{};
  Masked master{};
  Masked file_key{};
};

// Opens the volume with its passphrase, writes a file and reads it. Looks for the keys while all is open.
void use_volume(MemoryDisk& disk, Cipher cipher, Needles& needles) {
  Secret passphrase(kCipherKeyBytes);
  fill_randomly(passphrase.bytes());
  needles.passphrase = masked(passphrase.bytes());
  KeyHeader header{.uuid = "01234567-89ab-4cde-8f01-23456789abcd", .cipher = cipher};
  {
    const Secret master = VolumeKey::make_master();
    ASSERT_TRUE(add_slot(header, master.bytes(), passphrase.bytes(), "", {.memory_kib = 64, .passes = 1, .lanes = 1}));
    const auto folder = disk.open_root("/").value();
    ASSERT_TRUE(write_key_header(*folder, header, master.bytes()));
    header = read_key_header(*folder).value().value();
  }
  const auto key = unlock(header, passphrase.bytes()).value().key;
  needles.master = masked(key->master());
  const auto volume = create_sealed_folder(disk.open_root("/").value(), key);
  const auto index = volume->make_and_open_folder("index").value();
  const auto file = index->open("000012.sst", Backing::Mode::kCreate).value();
  const std::string text(100'000, 'x');
  ASSERT_TRUE(file->write(0, bytes_of(text)));
  ByteBuffer read(text.size());
  ASSERT_TRUE(file->read(0, read));
  SealSalt salt{};
  ASSERT_TRUE(disk.open("/index/000012.sst", Backing::Mode::kRead).value()->read(0, salt));
  needles.file_key = masked(key->file_key(key->number(), salt, "segment", "index/000012.sst").bytes());
  EXPECT_FALSE(places_of(needles.passphrase).empty()) << "the search does not find what is there";
  EXPECT_FALSE(places_of(needles.master).empty());
  EXPECT_FALSE(places_of(needles.file_key).empty());
}

TEST_F(TracesOfSecrets, AreGoneWhenTheVolumeIsClosed) {
  look([] {
    for (const Cipher cipher : {Cipher::kAes256Gcm, Cipher::kChaCha20Poly1305}) {
      Needles needles;
      use_volume(*std::make_shared<MemoryDisk>(), cipher, needles);
      EXPECT_EQ(places_of(needles.passphrase), std::vector<std::string>()) << "the passphrase";
      EXPECT_EQ(places_of(needles.master), std::vector<std::string>()) << "the master key";
      EXPECT_EQ(places_of(needles.file_key), std::vector<std::string>()) << "the key of a file, " << name_of(cipher);
    }
  });
}

TEST_F(TracesOfSecrets, AreFoundWhereSomebodyLeavesThem) {
  look([] {
    const Secret secret = VolumeKey::make_master();
    const std::vector<std::uint8_t> left(secret.bytes().begin(), secret.bytes().end());
    EXPECT_GE(places_of(masked(secret.bytes())).size(), 2u);
    EXPECT_EQ(left.size(), secret.size());
  });
}

}  // namespace
}  // namespace dedupfs
