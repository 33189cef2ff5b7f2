#include "store/format/superblock.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <xxhash.h>

#include <set>

#include "support/faulty_backing.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

Superblock sample() {
  Superblock superblock;
  superblock.uuid = "01234567-89ab-4cde-8f01-23456789abcd";
  superblock.label = "backups \"of\" münchen";
  superblock.created_unix_seconds = 1'700'000'000;
  superblock.chunker = "vram:avg=8k,min=2k,max=32k";
  superblock.compression.settled.level = 3;
  superblock.region_bytes = 256 << 10;
  superblock.compression.landing.level = 2;
  return superblock;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Superblock sample_with_deltas() {
  Superblock superblock = sample();
  superblock.incompatible_features = {std::string(kDeltaFeature)};
  superblock.delta = {.method = "odess+", .depth = 3, .neighbours = 1, .index_bytes = 1 << 30};
  return superblock;
}

// With a right checksum, as somebody could write it who means harm.
std::string forged(const std::string& from, const std::string& to, const Superblock& superblock = sample()) {
  const std::string json = replaced(encode_superblock(superblock), from, to);
  const std::string covered = json.substr(0, json.rfind("\"checksum\""));
  return covered + fmt::format("\"checksum\": \"{:016x}\"\n}}\n", XXH3_64bits(covered.data(), covered.size()));
}

ErrorCode code_of(const Result<Superblock>& result) {
  EXPECT_FALSE(result);
  return result ? ErrorCode::kIo : result.error().code();
}

class SuperblockFiles : public testing::Test {
 protected:
  void overwrite(std::string_view name, std::string_view content) {
    ASSERT_TRUE(replace_file(*folder_, name, bytes_of(content)));
  }
  void write() { ASSERT_TRUE(write_superblock(*folder_, sample())); }
  Result<Superblock> read() { return read_superblock(*folder_); }

  TempDir volume_;
  std::shared_ptr<BackingFolder> folder_ = folder_at(volume_.path());
};

TEST(Superblock, ComesBackAsItWasEncoded) {
  const auto decoded = decode_superblock(encode_superblock(sample()));

  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(encode_superblock(*decoded), encode_superblock(sample()));
  EXPECT_EQ(decoded->uuid, sample().uuid);
  EXPECT_EQ(decoded->label, sample().label);
  EXPECT_EQ(decoded->created_unix_seconds, sample().created_unix_seconds);
  EXPECT_EQ(decoded->chunker, sample().chunker);
  EXPECT_EQ(decoded->compression, sample().compression);
  EXPECT_EQ(decoded->region_bytes, sample().region_bytes);
  EXPECT_EQ(decoded->container_bytes, sample().container_bytes);
}

// docs/format.md, "Superblock": bytes that lie on disks already.
TEST(Superblock, IsWrittenAsEver) {
  Superblock superblock;
  superblock.uuid = "01234567-89ab-4cde-8f01-23456789abcd";
  superblock.chunker = "c";
  superblock.compression.settled.level = 3;
  superblock.region_bytes = 256 << 10;

  EXPECT_EQ(encode_superblock(superblock), R"({
  "magic": "dedupfs volume",
  "format_version": 1,
  "incompatible_features": [],
  "read_only_features": [],
  "uuid": "01234567-89ab-4cde-8f01-23456789abcd",
  "label": "",
  "created_unix_seconds": 0,
  "chunker": "c",
  "fingerprint": "sha256",
  "compression": "zstd:3",
  "landing": "zstd:1",
  "region_bytes": 262144,
  "container_bytes": 67108864,
  "checksum": "7d3c56b97db0a3db"
}
)");
}

TEST(Superblock, DeltaSettingsComeBack) {
  const std::string json = encode_superblock(sample_with_deltas());

  const auto decoded = decode_superblock(json);

  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->delta, sample_with_deltas().delta);
  EXPECT_EQ(decoded->incompatible_features, std::vector<std::string>{"delta"});
  EXPECT_THAT(json, HasSubstr(R"("incompatible_features": [
    "delta"
  ])"));
  EXPECT_THAT(json, HasSubstr(R"("delta": "odess+:depth=3,neighbours=1,index=1g")"));
  EXPECT_EQ(encode_superblock(*decoded), json);
}

TEST(Superblock, VolumeOfABuildWithoutDeltasHasNone) {
  const auto decoded = decode_superblock(encode_superblock(sample()));

  ASSERT_TRUE(decoded);
  EXPECT_FALSE(decoded->delta.enabled());
}

TEST(Superblock, DeltaSettingsOfANewerBuildAreUnsupportedAndNamed) {
  for (const auto* newer : {"odess++:depth=3", "odess+:depth=3,colour=1", "odess+:depth=300"}) {
    const auto decoded = decode_superblock(forged("odess+:depth=3,neighbours=1,index=1g", newer, sample_with_deltas()));

    ASSERT_EQ(code_of(decoded), ErrorCode::kUnsupported) << newer;
    EXPECT_THAT(decoded.error().message(), HasSubstr("delta")) << newer;
  }
}

TEST(Superblock, DeltaSettingsThatAreNoTextAreCorrupt) {
  const auto decoded =
      decode_superblock(forged(R"("odess+:depth=3,neighbours=1,index=1g")", "4", sample_with_deltas()));

  ASSERT_EQ(code_of(decoded), ErrorCode::kCorruption);
  EXPECT_THAT(decoded.error().message(), HasSubstr("'delta'"));
}

TEST(Superblock, LabelOfAnyBytesIsWritten) {
  Superblock superblock = sample();
  superblock.label = "\xff\x01 \"checksum\"";

  EXPECT_TRUE(decode_superblock(encode_superblock(superblock)));
}

TEST(Superblock, EveryFlippedBitAndTruncationIsNoticed) {
  const std::string good = encode_superblock(sample());
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decode_superblock(bad)) << "bit " << bit;
  }
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(decode_superblock(std::string_view(good).substr(0, length))) << length;
}

TEST(Superblock, NewerFormatIsNamed) {
  const auto decoded = decode_superblock(forged("\"format_version\": 1", "\"format_version\": 9"));

  ASSERT_EQ(code_of(decoded), ErrorCode::kVersion);
  EXPECT_THAT(decoded.error().message(), HasSubstr("format version 9"));
}

TEST(Superblock, UnknownIncompatibleFeatureIsNamed) {
  const auto decoded =
      decode_superblock(forged("\"incompatible_features\": []", "\"incompatible_features\": [\"warp\"]"));

  ASSERT_EQ(code_of(decoded), ErrorCode::kVersion);
  EXPECT_THAT(decoded.error().message(), HasSubstr("'warp'"));
}

TEST(Superblock, UnknownReadOnlyFeatureForbidsWriting) {
  const auto decoded = decode_superblock(forged("\"read_only_features\": []", "\"read_only_features\": [\"warp\"]"));

  ASSERT_TRUE(decoded) << decoded.error().message();
  const auto writable = require_writable(*decoded);
  ASSERT_FALSE(writable);
  EXPECT_EQ(writable.error().code(), ErrorCode::kVersion);
  EXPECT_TRUE(require_writable(sample()));
}

TEST(Superblock, MethodsOfANewerBuildAreUnsupported) {
  EXPECT_EQ(code_of(decode_superblock(forged("sha256", "blake9"))), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of(decode_superblock(forged("zstd:3", "lzma:3"))), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of(decode_superblock(forged("zstd:2", "lzma:2"))), ErrorCode::kUnsupported);
}

TEST(Superblock, ALandingLevelThatIsStrongerThanTheSettledOneIsNotBelieved) {
  const auto forged_levels = decode_superblock(forged("zstd:2", "zstd:9"));

  ASSERT_TRUE(forged_levels) << forged_levels.error().message();
  EXPECT_EQ(format_compression(forged_levels->compression.landing), "zstd:3");
}

TEST(Superblock, AVolumeWithoutALandingLevelCompressesAtOnceForGood) {
  const auto old = decode_superblock(forged("\"landing\"", "\"Landing\""));

  ASSERT_TRUE(old) << old.error().message();
  EXPECT_EQ(format_compression(old->compression.landing), "zstd:3");
  EXPECT_TRUE(old->compression.are_one());
}

TEST(Superblock, WrongMembersAreCorrupt) {
  const std::pair<const char*, const char*> cases[] = {
      {"dedupfs volume", "another volume"},
      {"\"uuid\": \"01234567-89ab", "\"uuid\": \"0123456789ab-"},
      {"\"uuid\": \"01234567-89ab", "\"uuid\": \"g1234567-89ab"},
      {"\"label\"", "\"Label\""},
      {"\"format_version\": 1", "\"format_version\": \"1\""},
      {"\"format_version\": 1", "\"format_version\": -1"},
      {"\"format_version\": 1", "\"format_version\": 1.5"},
      {"\"format_version\": 1", "\"format_version\": 4294967297"},
      {"\"region_bytes\": 262144", "\"region_bytes\": 0"},
      {"\"region_bytes\": 262144", "\"region_bytes\": 99999999"},
      {"\"container_bytes\": 67108864", "\"container_bytes\": 18446744073709551615"},
      {"\"container_bytes\": 67108864", "\"container_bytes\": 4294967295"},
      {"\"created_unix_seconds\": 1700000000", "\"created_unix_seconds\": 18446744073709551615"},
      {"\"incompatible_features\": []", "\"incompatible_features\": [1]"},
      {"\"read_only_features\": []", "\"read_only_features\": {}"},
      {"{", "["},
  };
  for (const auto& [from, to] : cases)
    EXPECT_EQ(code_of(decode_superblock(forged(from, to))), ErrorCode::kCorruption) << to;
}

TEST_F(SuperblockFiles, AreReadBack) {
  write();

  const auto superblock = read();

  ASSERT_TRUE(superblock) << superblock.error().message();
  EXPECT_EQ(encode_superblock(*superblock), encode_superblock(sample()));
}

TEST_F(SuperblockFiles, EmptyFolderIsNoVolume) {
  const auto superblock = read();

  ASSERT_EQ(code_of(superblock), ErrorCode::kNotFound);
  EXPECT_THAT(superblock.error().message(), HasSubstr("no dedupfs volume"));
}

TEST_F(SuperblockFiles, SecondCopyStandsInForTheFirst) {
  const std::string good = encode_superblock(sample());
  for (const std::size_t kept : {std::size_t{0}, std::size_t{1}, good.size() - 1}) {
    write();
    overwrite(kSuperblockFile, std::string_view(good).substr(0, kept));
    EXPECT_TRUE(read()) << kept;
  }
  ASSERT_TRUE(folder_->unlink(kSuperblockFile));
  EXPECT_TRUE(read()) << "missing";
}

TEST_F(SuperblockFiles, TwoBadCopiesAreCorruptAndBothNamed) {
  write();
  overwrite(kSuperblockFile, "x");
  overwrite(kSuperblockCopyFile, std::string(100'000, 'y'));

  const auto superblock = read();

  ASSERT_EQ(code_of(superblock), ErrorCode::kCorruption);
  EXPECT_THAT(superblock.error().message(), HasSubstr("superblock.json"));
  EXPECT_THAT(superblock.error().message(), HasSubstr("superblock.copy.json"));
}

TEST_F(SuperblockFiles, NewerFormatIsNotHiddenByAnOlderCopy) {
  write();
  overwrite(kSuperblockFile, forged("\"format_version\": 1", "\"format_version\": 2"));

  EXPECT_EQ(code_of(read()), ErrorCode::kVersion);
}

TEST_F(SuperblockFiles, LinksAreNotFollowed) {
  write();
  const Path elsewhere = volume_.path() / "elsewhere";
  for (const auto& name : {kSuperblockFile, kSuperblockCopyFile}) {
    std::filesystem::rename(volume_.path() / name, elsewhere);
    std::filesystem::create_symlink(elsewhere, volume_.path() / name);
  }

  EXPECT_FALSE(read());
}

TEST_F(SuperblockFiles, InterruptedReplacementLeavesOldOrNew) {
  Superblock renamed = sample();
  renamed.label = "renamed";
  for (int failing = 0;; ++failing) {
    write();
    FaultyBacking faulty;
    int operations = 0;
    faulty.fault = [&](const std::string&, const Path&) -> std::optional<Error> {
      if (operations++ >= failing) return Error{ErrorCode::kIo, "cut off"};
      return std::nullopt;
    };

    const bool finished = write_superblock(**faulty.open_root(volume_.path()), renamed).has_value();
    const auto found = read();

    ASSERT_TRUE(found) << failing;
    EXPECT_THAT(found->label, testing::AnyOf(sample().label, renamed.label));
    if (finished) {
      EXPECT_EQ(found->label, renamed.label);
      break;
    }
  }
}

}  // namespace
}  // namespace dedupfs
