// Volumes for tools: with some files, and with a daemon in this process, which has all that a mount has but the kernel.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "fs/test_filesystem.h"
#include "mount/control/control_socket.h"
#include "mount/daemon/control_handlers.h"
#include "mount/daemon/transfer_jobs.h"
#include "mount/fuse/fuse_operations.h"

namespace dedupfs::tools {

inline constexpr std::size_t kFileBytes = 1 << 20;

// Two files of noise, "kept" and "other".
inline void fill(TestFilesystem& filesystem) {
  filesystem.make_file(kRootInode, "kept", random_text(kFileBytes, 1));
  const InodeNumber other = filesystem.make_file(kRootInode, "other", random_text(kFileBytes, 2));
  filesystem->forget(other, 1);
  EXPECT_TRUE(ok(filesystem->sync()));
}

// Leaves garbage of kFileBytes.
inline void delete_other(TestFilesystem& filesystem) {
  EXPECT_TRUE(ok(filesystem->unlink(kRootInode, "other")));
  EXPECT_TRUE(filesystem.inodes_become(2));
}

// Changes a byte in the middle of each container: none of the data there can be read.
inline void damage_containers(const std::filesystem::path& volume) {
  for (const auto& file : std::filesystem::recursive_directory_iterator(volume / "containers")) {
    if (!file.is_regular_file()) continue;
    const int fd = ::open(file.path().c_str(), O_RDWR | O_CLOEXEC);
    const auto middle = static_cast<off_t>(file.file_size() / 2);
    char byte = 0;
    EXPECT_EQ(::pread(fd, &byte, 1, middle), 1);
    byte = static_cast<char>(byte ^ 1);
    EXPECT_EQ(::pwrite(fd, &byte, 1, middle), 1);
    ::close(fd);
  }
}

// A volume with both files that is not mounted.
class ClosedVolume {
 public:
  ClosedVolume() {
    fill(filesystem_);
    filesystem_.close();
  }

  std::string path() const { return filesystem_.path(); }
  TestFilesystem& filesystem() { return filesystem_; }  // closed

 private:
  TestFilesystem filesystem_;
};

class ServedVolume {
 public:
  ServedVolume() {
    fill(filesystem_);
    const auto transfers = std::make_shared<RunningTransfers>();
    streams_ = value_of(StreamJobs::make(transfer_jobs(mount_, transfers)));
    server_ = value_of(ControlServer::start(*filesystem_->volume().folder(),
                                            control_handlers(mount_, request_, /*shipper=*/nullptr, transfers),
                                            streams_->handlers()));
  }
  ~ServedVolume() {
    server_.reset();
    streams_.reset();
    filesystem_.close();
  }
  ServedVolume(const ServedVolume&) = delete;
  ServedVolume& operator=(const ServedVolume&) = delete;

  std::string path() const { return filesystem_.path(); }
  TestFilesystem& filesystem() { return filesystem_; }

 private:
  TestFilesystem filesystem_;
  MountRequest request_{.volume = filesystem_.path(), .mountpoint = "/nowhere", .options = {}, .version = "test"};
  FuseMount mount_{*filesystem_, request_.options};
  std::unique_ptr<StreamJobs> streams_;
  std::unique_ptr<ControlServer> server_;
};

}  // namespace dedupfs::tools
