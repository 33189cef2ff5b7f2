#include "store/check/container_repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_store.h"
#include "store/format/container_format.h"
#include "support/files.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kRepairedVolume[] = "01234567-89ab-4def-8123-456789abcdef";

// Containers as strings, and records of an index that refer to regions in them.
class ContainerRepairTest : public testing::Test {
 protected:
  using Lines = std::vector<std::string>;

  // Three regions; not sealed.
  static std::string container(std::uint32_t number, const std::string& volume = kRepairedVolume) {
    std::string bytes = encode_container_header({number, parse_uuid(volume).value()});
    for (std::uint64_t id = 1; id <= 3; ++id) bytes += region(100 * number + id);
    return bytes;
  }
  static std::string region(std::uint64_t id) { return one_chunk(id, 2000).encode(Compression::none()); }
  static std::string sealed(std::uint32_t number, std::string bytes) {
    return bytes + encode_container_trailer({number, 3, bytes.size() + kContainerTrailerBytes});
  }
  static std::string without_header(std::string bytes) {
    bytes[20] = static_cast<char>(bytes[20] ^ 1);
    return bytes;
  }

  Path path(std::uint32_t number) const { return folder()->path() / container_name(number); }
  std::shared_ptr<BackingFolder> folder() const { return folder_at(directory_.path() / "containers"); }
  void write(std::uint32_t number, const std::string& bytes) const {
    (void)folder();
    overwrite(path(number), bytes);
  }
  Lines repair_headers() const { return repair_container_headers(folder(), superblock_).value(); }
  Lines cut_tails() const { return cut_torn_tails(folder(), superblock_, regions_).value(); }
  // The index refers to a region there.
  void refer_to(std::uint32_t number, std::size_t offset) {
    class OneExtent final : public RecordSource {
     public:
      explicit OneExtent(const ChunkExtent& extent) : extent_(extent) {}
      Result<void> walk(Family, const Visit& visit) const override {
        visit(encode_extent_key(extent_.first), encode_extent(extent_));
        return {};
      }

     private:
      const ChunkExtent& extent_;
    };
    const ChunkExtent extent{.first = ChunkId{7},
                             .place = {number, static_cast<std::uint32_t>(offset)},
                             .region_disk_bytes = 2000,
                             .region_payload_bytes = 2000,
                             .chunks = {{.raw_length = 2000}}};
    regions_ = RegionOffsets::of(OneExtent(extent)).value();
  }

  const TempDir directory_;
  const Superblock superblock_ = [] {
    Superblock superblock;
    superblock.uuid = kRepairedVolume;
    return superblock;
  }();
  RegionOffsets regions_;
};

// ---------------------------------------------------------------- headers

TEST_F(ContainerRepairTest, ADamagedHeaderIsWrittenAnewAndNothingElse) {
  write(1, container(1));
  write(2, without_header(container(2)));
  write(3, without_header(sealed(3, container(3))));

  EXPECT_THAT(repair_headers(), testing::UnorderedElementsAre(HasSubstr("0000000002.container: its header"),
                                                              HasSubstr("0000000003.container: its header")));

  EXPECT_TRUE(content_of(path(1)) == container(1));
  EXPECT_TRUE(content_of(path(2)) == container(2));
  EXPECT_TRUE(content_of(path(3)) == sealed(3, container(3)));
  EXPECT_THAT(repair_headers(), IsEmpty()) << "they are whole now";
}

TEST_F(ContainerRepairTest, AHeaderOfAnotherVersionIsDamagedToo) {
  std::string bytes = container(1);
  bytes[8] = 9;
  write(1, bytes);

  EXPECT_THAT(repair_headers(), ElementsAre(HasSubstr("its header")));
  EXPECT_TRUE(content_of(path(1)) == container(1));
}

TEST_F(ContainerRepairTest, AFileWithoutRegionsIsNoContainerToRepair) {
  const std::string garbage(5000, 'g');
  write(1, garbage);
  write(2, without_header(container(2)).substr(0, kContainerHeaderBytes));
  write(3, "short");
  write(4, "");

  EXPECT_THAT(repair_headers(), IsEmpty());

  EXPECT_EQ(content_of(path(1)), garbage);
  EXPECT_EQ(content_of(path(3)), "short");
}

TEST_F(ContainerRepairTest, ContainersOfOtherVolumesAndOtherNumbersAndWhatIsNoneAreLeftAlone) {
  const std::string other = container(1, "11111111-89ab-4cde-8f01-23456789abcd") + "torn";
  write(1, other);
  write(2, container(3) + "torn");  // somebody renamed it
  std::filesystem::create_directory(path(4));
  overwrite(folder()->path() / "notes.txt", without_header(container(5)));

  EXPECT_THAT(repair_headers(), IsEmpty());
  EXPECT_THAT(cut_tails(), IsEmpty());

  EXPECT_TRUE(content_of(path(1)) == other);
  EXPECT_TRUE(content_of(path(2)) == container(3) + "torn");
}

// ---------------------------------------------------------------- torn tails

TEST_F(ContainerRepairTest, WhatAnInterruptedWriteLeftIsCutOff) {
  const std::string half = region(9).substr(0, 1000);
  write(1, container(1) + half);

  EXPECT_THAT(cut_tails(), ElementsAre(HasSubstr("0000000001.container: 1000 bytes of an interrupted write are cut off "
                                                 "at " +
                                                 std::to_string(container(1).size()))));

  EXPECT_TRUE(content_of(path(1)) == container(1));
  EXPECT_THAT(cut_tails(), IsEmpty());
}

TEST_F(ContainerRepairTest, SealedAndWholeContainersHaveNoTornTail) {
  write(1, sealed(1, container(1)));
  write(2, container(2));

  EXPECT_THAT(cut_tails(), IsEmpty());

  EXPECT_TRUE(content_of(path(1)) == sealed(1, container(1)));
  EXPECT_TRUE(content_of(path(2)) == container(2));
}

TEST_F(ContainerRepairTest, ATailIsCutOffWhateverBecameOfTheHeader) {
  write(1, without_header(container(1)) + std::string(500, 'x'));

  EXPECT_THAT(cut_tails(), ElementsAre(HasSubstr("500 bytes")));
  EXPECT_TRUE(content_of(path(1)) == without_header(container(1)));
}

// Garbage in front of it is damage in the middle, and stays.
TEST_F(ContainerRepairTest, NothingThatTheIndexRefersToIsCutOff) {
  const std::string referred = container(1) + std::string(300, 'g') + region(9);
  refer_to(1, container(1).size() + 300);
  write(1, referred + std::string(500, 'x'));

  EXPECT_THAT(cut_tails(), ElementsAre(HasSubstr("500 bytes")));

  EXPECT_TRUE(content_of(path(1)) == referred);
}

}  // namespace
}  // namespace dedupfs
