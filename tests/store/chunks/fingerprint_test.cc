#include "store/chunks/fingerprint.h"

#include <gtest/gtest.h>

#include "store/ingest/fingerprint_cache.h"

namespace dedupfs {
namespace {

TEST(Fingerprint, IsSha256) {
  // FIPS 180-2, appendix B.1
  EXPECT_EQ(fingerprint_of(bytes_of("abc")).hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(fingerprint_of({}).hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Fingerprint, OfAListAreThoseOfItsChunks) {
  const std::string bytes(100'000, 'x');
  std::vector<ByteSpan> chunks;
  std::vector<Fingerprint> wanted;
  for (const std::size_t length : {40'000U, 0U, 1U, 64U, 99'999U, 55U, 56U}) {
    chunks.push_back(bytes_of(bytes).first(length));
    wanted.push_back(fingerprint_of(chunks.back()));
  }

  EXPECT_EQ(fingerprints_of(chunks), wanted);
  EXPECT_TRUE(fingerprints_of({}).empty());
}

RegionEntry numbered_entry(int number) {
  RegionEntry made;
  made.id = ChunkId{static_cast<std::uint64_t>(number)};
  made.fingerprint = fingerprint_of(bytes_of(std::to_string(number)));
  return made;
}

TEST(FingerprintCache, FindsWhatWasInserted) {
  FingerprintCache cache(10);

  cache.insert({numbered_entry(1), numbered_entry(2)});

  EXPECT_EQ(cache.find(numbered_entry(2).fingerprint), ChunkId{2});
  EXPECT_EQ(cache.find(numbered_entry(3).fingerprint), std::nullopt);
}

TEST(FingerprintCache, ForgetsWhatIsNotAskedForAndKeepsWhatIs) {
  FingerprintCache cache(4);

  cache.insert({numbered_entry(1), numbered_entry(2)});
  for (int number = 100; number < 120; ++number) {
    cache.insert({numbered_entry(number)});
    EXPECT_EQ(cache.find(numbered_entry(1).fingerprint), ChunkId{1}) << "after " << number;
  }

  EXPECT_EQ(cache.find(numbered_entry(2).fingerprint), std::nullopt);
}

}  // namespace
}  // namespace dedupfs
