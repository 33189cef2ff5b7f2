// When a mount settles by itself: settle=idle, always and off.
#include "fs/background/settle_mode.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "fs/test_filesystem.h"
#include "store/format/superblock.h"
#include "store/word_text.h"

namespace dedupfs {
namespace {

// A mount with several small containers that are to be settled.
class LandedMount {
 public:
  explicit LandedMount(SettleMode mode) {
    const Path path = directory_.path() / "volume";
    VolumeSettings settings = TestFilesystem::settings();
    settings.compression = {.settled = value_of(parse_compression("zstd:9"))};
    value_of(Volume::create(path, settings));
    const auto folder = Backing::posix()->open_root(path).value();
    Superblock superblock = value_of(read_superblock(*folder));
    superblock.container_bytes = kMinContainerBytes;
    EXPECT_TRUE(ok(write_superblock(*folder, superblock)));
    FilesystemOptions options = TestFilesystem::quiet();
    options.settle = mode;
    filesystem_ = value_of(Filesystem::open(
        value_of(Volume::open(path, {.index_memory_bytes = 32 << 20, .threads = 2, .slow_bytes = 0})), options));
    for (unsigned i = 0; i < 10; ++i) write_file();
    EXPECT_TRUE(ok(filesystem_->sync()));
    EXPECT_GT(value_of(filesystem_->volume().containers().landed_bytes()), kMinContainerBytes);
  }

  void write_file() {
    const std::string name = std::to_string(files_);
    const InodeNumber inode = value_of(filesystem_->create(kRootInode, name, 0644, {})).inode;
    EXPECT_TRUE(ok(filesystem_->write(inode, 0, word_text(20'000, files_++), {}, nullptr)));
    filesystem_->forget(inode, 1);
  }
  // As a request of a user does.
  void note_use() { filesystem_->activity().note(); }
  bool has_settled() const {
    const ReclaimStatus status = filesystem_->reclaimer().status();
    return status.last && !status.last->error && status.last->findings.goal == ReclaimGoal::kSettle &&
           status.last->findings.emptied_containers != 0;
  }
  bool has_begun() const {
    const ReclaimStatus status = filesystem_->reclaimer().status();
    return status.running || status.last;
  }

 private:
  TempDir directory_;
  std::unique_ptr<Filesystem> filesystem_;
  unsigned files_ = 0;
};

// A mount looks every ten seconds. All three are tested at once, and the last one that is made looks last.
TEST(SettleMode, WhileFilesAreWrittenOnlyAlwaysSettlesAndOffNeverDoes) {
  LandedMount off(SettleMode::kOff);  // nobody uses this one
  LandedMount idle(SettleMode::kIdle);
  LandedMount always(SettleMode::kAlways);

  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!always.has_settled() && std::chrono::steady_clock::now() < give_up) {
    for (LandedMount* const mount : {&idle, &always}) mount->note_use();
    always.write_file();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

  EXPECT_TRUE(always.has_settled());
  EXPECT_FALSE(idle.has_begun());
  EXPECT_FALSE(off.has_begun());
}

}  // namespace
}  // namespace dedupfs
