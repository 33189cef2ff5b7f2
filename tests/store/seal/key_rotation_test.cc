#include "store/seal/key_rotation.h"

#include "store/seal/sealed_names.h"
#include "store/seal/sealed_volume.h"

namespace dedupfs {
namespace {

class KeyRotationTest : public SealedVolume {
 protected:
  std::vector<std::string> passphrases_{"secret"};

  KeyHeader header() { return read_key_header(*real_).value().value(); }
  void unlock_again() { key_ = unlocked().key; }
  // After a crash the passphrase of before opens, or the new one.
  UnlockedKey unlocked() {
    const KeyHeader found = header();
    for (const std::string& passphrase : passphrases_)
      if (auto opened = unlock(found, bytes_of(passphrase))) return std::move(*opened);
    ADD_FAILURE() << "no passphrase opens the volume";
    return {};
  }
  Result<RotatedKey> rotate() {
    KeyHeader changed = header();
    const UnlockedKey opened = unlocked();
    passphrases_.push_back("secret " + std::to_string(passphrases_.size()));
    const KdfSettings kdf{.memory_kib = 16, .passes = 1, .lanes = 1};
    return rotate_master_key(*real_, changed, opened,
                             {.bytes = bytes_of(passphrases_.back()), .name = passphrases_.back(), .kdf = kdf});
  }
  // False if the crash, which comes after so many steps, came before the end.
  bool rotate_with_a_crash(const DiskImage& before, int steps) {
    crash(before);
    int left = steps;
    disk_->set_fault([&](std::string_view operation, const Path&) -> std::optional<MemoryDisk::Fault> {
      if (operation == "read" || left-- > 0) return std::nullopt;
      return MemoryDisk::Fault{.error = {ErrorCode::kIo, "the machine stopped here"}};
    });
    const bool is_done = rotate().has_value();
    disk_->set_fault(nullptr);
    crash(disk_->image());
    return is_done;
  }
  void expect_all_is_there() {
    unlock_again();
    const auto folder = open().value();
    EXPECT_TRUE(compare_all_files(*folder));
    EXPECT_TRUE(differences_.empty()) << differences_[0];
    EXPECT_EQ(content(*folder, "one"), "content of one");
    EXPECT_EQ(content(*folder, "two"), "content of two");
    EXPECT_EQ(read_file(*folder, kSuperblockFile, 100).value(), "settings of the volume");
    // The slot has the cost and the name of the passphrase that opens it.
    const KeySlot slot = header().slots.at(0);
    EXPECT_EQ(slot.name == passphrases_.back(), slot.kdf.memory_kib == 16u);
    EXPECT_EQ(slot.name == passphrases_.back(), unlock(header(), bytes_of(passphrases_.back())).has_value());
  }
  void rewrite(const std::string& name) {
    const auto containers = open().value()->open_folder(kContainersDirectory).value();
    ASSERT_TRUE(containers->unlink(name));
    fill(*containers, name, "content of " + name);
  }
};

TEST_F(KeyRotationTest, TheFormerKeyLeavesWhenNothingIsUnderIt) {
  ASSERT_TRUE(rotate());
  expect_all_is_there();
  EXPECT_EQ(outdated_files(*open().value()), (std::set<std::string>{"containers/one", "containers/two", "settings"}));

  rewrite("one");
  EXPECT_EQ(header().former_keys.size(), 1u);
  expect_all_is_there();
  EXPECT_EQ(outdated_files(*open().value()), (std::set<std::string>{"containers/two"}))
      << "the first change seals the settings anew";
  rewrite("two");
  EXPECT_TRUE(header().former_keys.empty());
  expect_all_is_there();
  EXPECT_FALSE(key_->has_former());
}

TEST_F(KeyRotationTest, AFileThatIsWrittenToStaysUnderBothKeys) {
  ASSERT_TRUE(rotate());
  unlock_again();
  fill(*open().value()->open_folder(kContainersDirectory).value(), "one", " and more");
  const auto folder = open().value();
  EXPECT_EQ(content(*folder, "one"), "content of one and more");
  EXPECT_TRUE(outdated_files(*folder).contains("containers/one"));
}

TEST_F(KeyRotationTest, AnOldStateIsFoundWhicheverKeyItIsUnder) {
  const std::string one = sealed("one");
  const std::string two = sealed("two");
  ASSERT_TRUE(rotate());
  unlock_again();
  rewrite("one");
  put_sealed("one", one);
  {
    const auto folder = open().value();
    EXPECT_TRUE(content(*folder, "one").starts_with("error: ")) << "under the former key, of the same length";
    EXPECT_EQ(content(*folder, "two"), "content of two");
  }
  ASSERT_TRUE(take_files_as_they_are(*open().value()));
  ASSERT_TRUE(open().value()->open_folder(kContainersDirectory).value()->unlink("two"));
  put_sealed("two", two);
  ASSERT_TRUE(open());
  ASSERT_EQ(differences_.size(), 1u);
}

// Who has the former key could make any.
TEST_F(KeyRotationTest, TheListOfFilesMustBeUnderTheCurrentKey) {
  const std::string record = read_file(*real_, kVolumeRecordFile, 100'000).value();
  ASSERT_TRUE(rotate());
  unlock_again();
  for (const std::string_view name : {kVolumeRecordFile, kVolumeRecordCopyFile}) ASSERT_TRUE(real_->unlink(name));
  ASSERT_TRUE(real_->open(kVolumeRecordFile, Backing::Mode::kCreate).value()->write(0, bytes_of(record)));
  ASSERT_TRUE(open());
  ASSERT_EQ(differences_.size(), 1u);
  EXPECT_NE(differences_[0].find(kVolumeRecordFile), std::string::npos);
}

// Only a session tells what was written after the list.
TEST_F(KeyRotationTest, AVolumeThatWasNotUnmountedIsRefused) {
  DiskImage crashed;
  {
    const auto folder = open().value();
    fill(*folder->open_folder(kContainersDirectory).value(), "three", "new");
    crashed = disk_->image();
  }
  crash(crashed);
  EXPECT_EQ(rotate().error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(header().key_number, 1u);
  fill(*open().value()->open_folder(kContainersDirectory).value(), "three", ", more");
  EXPECT_TRUE(rotate());
  for (const std::string_view name : {kVolumeRecordFile, kVolumeRecordCopyFile}) ASSERT_TRUE(real_->unlink(name));
  EXPECT_EQ(rotate().error().code(), ErrorCode::kCorruption);
}

// Each step of a rotation is a change of the disk. The volume opens after a crash behind any of them, and can be rotated again.
TEST_F(KeyRotationTest, ACrashLeavesEitherKeyWhole) {
  const DiskImage before = disk_->image();
  std::set<std::uint32_t> numbers;
  bool is_done = false;
  for (int steps = 0; !is_done; ++steps) {
    ASSERT_LT(steps, 100);
    is_done = rotate_with_a_crash(before, steps);
    numbers.insert(header().key_number);
    expect_all_is_there();
    ASSERT_TRUE(rotate());
    expect_all_is_there();
    rewrite("one");
    rewrite("two");
    EXPECT_TRUE(header().former_keys.empty());
    expect_all_is_there();
  }
  EXPECT_EQ(numbers, (std::set<std::uint32_t>{1, 2}));
}

// The same without a second rotation, which would put right what the first one left.
TEST_F(KeyRotationTest, AVolumeGoesOnFromWhereARotationWasCutOff) {
  const DiskImage before = disk_->image();
  bool is_done = false;
  for (int steps = 0; !is_done; ++steps) {
    ASSERT_LT(steps, 100);
    is_done = rotate_with_a_crash(before, steps);
    unlock_again();
    rewrite("one");
    expect_all_is_there();
    EXPECT_EQ(damage_of_key_header(*real_).size(), 0u) << "a change makes the copies alike";
  }
}

}  // namespace
}  // namespace dedupfs
