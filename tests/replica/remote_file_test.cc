#include "replica/remote_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scratch_backing.h"
#include "store/volume/capture.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

const UuidText kVolumeUuid = "01234567-89ab-4def-8123-456789abcdef";

RemoteRecord sample_record() {
  return {.volume = kVolumeUuid,
          .where = {.address = "s3://bucket/prefix",
                    .endpoint = "https://example.org",
                    .region = "eu",
                    .credentials_file = "/etc/keys",
                    .ca_file = "/etc/ca",
                    .bytes_per_second = 1000},
          .position = {.epoch = 3,
                       .head = RemotePosition::Known{.sequence = 7, .sha256 = sha256_of(bytes_of("7"))},
                       .tried = {{.sequence = 8, .sha256 = sha256_of(bytes_of("8"))},
                                 {.sequence = 8, .sha256 = sha256_of(bytes_of("8b"))}}}};
}

TEST(RemoteFileTest, IsReadAsItWasWritten) {
  ScratchBacking disk(1 << 20);
  const auto folder = disk.open_root("/").value();
  ASSERT_TRUE(save_remote_record(*folder, sample_record()));
  EXPECT_EQ(load_remote_record(*folder, kVolumeUuid).value(), sample_record());

  RemoteRecord record = sample_record();
  record.position = {};
  ASSERT_TRUE(save_remote_record(*folder, record));

  EXPECT_EQ(load_remote_record(*folder, kVolumeUuid).value(), record);
}

TEST(RemoteFileTest, KeepsWhichContainersAreThere) {
  RemoteRecord record = sample_record();
  record.containers = ShippedContainers{.first = 7, .bytes = {{7, 1000}, {4294967295, 72 << 20}}};
  EXPECT_EQ(decode_remote_record(encode_remote_record(record)).value(), record);

  record.containers = ShippedContainers{.first = 7, .bytes = {{6, 1000}}};

  EXPECT_FALSE(decode_remote_record(encode_remote_record(record))) << "it says twice what is there of that one";
}

TEST(RemoteFileTest, AVolumeWithoutABucketSaysHowItGetsOne) {
  ScratchBacking disk(1 << 20);

  const auto record = load_remote_record(*disk.open_root("/").value(), kVolumeUuid);

  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(record.error().message(), HasSubstr("dedupfs-remote attach"));
}

TEST(RemoteFileTest, OneOfAnotherVolumeIsRefused) {
  ScratchBacking disk(1 << 20);
  const auto folder = disk.open_root("/").value();
  ASSERT_TRUE(save_remote_record(*folder, sample_record()));

  const auto record = load_remote_record(*folder, "11234567-89ab-4def-8123-456789abcdef");

  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(record.error().message(), HasSubstr("another volume; remove it"));
}

TEST(RemoteFileTest, AChangedByteIsFound) {
  const std::string text = encode_remote_record(sample_record());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] ^= 1;
    EXPECT_FALSE(decode_remote_record(changed)) << "byte " << i;
  }
}

}  // namespace
}  // namespace dedupfs
