#include "store/containers/unknown_containers.h"

#include <gtest/gtest.h>

#include "sample_region.h"
#include "store/format/container_format.h"
#include "support/memory_disk.h"

namespace dedupfs {
namespace {

// Containers 1, 2 and 3 with chunks 10, 20 and 30.
class UnknownContainersTest : public testing::Test {
 protected:
  UnknownContainersTest() {
    EXPECT_TRUE(disk_->make_directory("/containers"));
    containers_ = open();
    for (const std::uint64_t id : {10u, 20u, 30u}) append(one_chunk(id, 1000));
  }
  std::unique_ptr<ContainerStore> open() {
    return std::move(*ContainerStore::open(
        disk_->open_root("/containers").value(),
        {.volume_uuid = "01234567-89ab-4cde-8f01-23456789abcd", .container_bytes = 1000}));  // full after one region
  }
  RegionPlace append(const SampleRegion& region) { return containers_->append(bytes_of(region.encode())).value(); }

  void overwrite(RegionPlace place, std::uint64_t at, std::string_view bytes) {
    const Path file = Path("/containers") / container_name(place.container);
    ASSERT_TRUE(disk_->open(file, Backing::Mode::kReadWrite).value()->write(place.offset + at, bytes_of(bytes)));
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<ContainerStore> containers_;
};

TEST_F(UnknownContainersTest, AnIndexThatKnowsAllHearsNothing) {
  EXPECT_EQ(first_id_behind_unknown(*containers_, 4), 0u);
  EXPECT_EQ(first_id_behind_unknown(*containers_, 1000), 0u);
}

TEST_F(UnknownContainersTest, TheGreatestIdCountsWhereverItLies) {
  EXPECT_EQ(first_id_behind_unknown(*containers_, 3), 31u);

  append(SampleRegion().add(70, text_bytes(600)).add(5, text_bytes(600)));
  append(one_chunk(40, 1000));

  EXPECT_EQ(first_id_behind_unknown(*containers_, 4), 71u);
  EXPECT_EQ(first_id_behind_unknown(*containers_, 0), 71u);
}

// The last one that the index knows may have been open when the index was copied.
TEST_F(UnknownContainersTest, TheContainerInFrontMayHaveGrown) {
  append(one_chunk(90, 1000));
  append(one_chunk(40, 1000));

  EXPECT_EQ(first_id_behind_unknown(*containers_, 5), 91u);
  EXPECT_EQ(first_id_behind_unknown(*containers_, 6), 0u) << "it is known, and no other one is there";
}

TEST_F(UnknownContainersTest, WhatIsDamagedDoesNotCount) {
  const RegionPlace no_header = append(one_chunk(80, 1000));
  const RegionPlace no_directory = append(one_chunk(70, 1000));
  const RegionPlace no_payload = append(one_chunk(60, 1000));
  overwrite(no_header, 0, "garbage!");
  overwrite(no_directory, kRegionHeaderBytes, "garbage!");
  overwrite(no_payload, kRegionHeaderBytes + 100, "garbage!");

  EXPECT_EQ(first_id_behind_unknown(*containers_, 4), 61u) << "the directory tells the ids";
}

TEST_F(UnknownContainersTest, AContainerOfAnotherVolumeDoesNotCount) {
  const RegionPlace foreign = append(one_chunk(80, 1000));
  overwrite({foreign.container, 0}, 0, encode_container_header({foreign.container, UuidBytes{}}));
  containers_ = open();

  EXPECT_EQ(first_id_behind_unknown(*containers_, 4), 31u) << "of the container in front of it";
}

TEST_F(UnknownContainersTest, WhatCannotBeReadIsAnError) {
  disk_->set_fault([](std::string_view operation, const Path& path) -> std::optional<MemoryDisk::Fault> {
    if (operation != "read" || path.filename() != container_name(3)) return std::nullopt;
    return MemoryDisk::Fault{.error = Error{ErrorCode::kIo, "bad sector"}};
  });
  containers_ = open();

  const auto behind = first_id_behind_unknown(*containers_, 3);

  ASSERT_FALSE(behind);
  EXPECT_EQ(behind.error().code(), ErrorCode::kIo);
}

}  // namespace
}  // namespace dedupfs
