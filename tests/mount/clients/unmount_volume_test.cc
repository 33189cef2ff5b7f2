// Unmounting, with a daemon in the test that has no filesystem.
#include "mount/clients/unmount_volume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "mount/control/control_ends.h"
#include "mount/control/control_socket.h"
#include "mount/private_mounts.h"
#include "mount/volume_and_place.h"
#include "store/format/superblock.h"
#include "support/folder_at.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

struct UnmountVolume : VolumeAndPlace {
  std::vector<std::string> said;

  Result<Unmounted> run(UnmountMode mode = UnmountMode::kNormal, bool read_only_on_failure = false) {
    return unmount_volume({.target = place,
                           .mode = mode,
                           .read_only_on_failure = read_only_on_failure,
                           .patience = {300ms, [this](const std::string& line) { said.push_back(line); }},
                           .verbose = true});
  }
  bool is_mounted() const { return !mounts_at(place).empty(); }
  // The mount goes, and the error says why that may have lost something.
  void expect_uncertain(const std::string& why) {
    const auto result = run();

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kInterrupted);
    EXPECT_THAT(result.error().message(), HasSubstr(why));
    EXPECT_FALSE(is_mounted());
  }
};

// Answers `sync` and `info`, and says that the volume is closed when the mount is gone.
class ClosingServer {
 public:
  ClosingServer(const Path& volume, const Path& place, const Result<void>& synced, const std::string& device = {}) {
    const std::string number = device.empty() ? mounts_at(place).at(0).device : device;
    ControlServer::Handlers handlers;
    handlers["info"] = [number](const Json&) -> Result<Json> { return Json{{"device", number}}; };
    handlers["sync"] = [this, synced](const Json&) -> Result<Json> {
      ++syncs;
      if (!synced) return synced.error();
      return Json::object();
    };
    server_ = std::move(*ControlServer::start(*folder_at(volume), handlers));
  }
  void close(const Result<void>& outcome, const std::string& warning = {}) { server_->finish(outcome, warning); }

  std::atomic<int> syncs = 0;

 private:
  std::unique_ptr<ControlServer> server_;
};

// The same in a process of its own, which closes the volume when the mount is gone, and ends.
class DaemonProcess {
 public:
  DaemonProcess(const Path& volume, const Path& place, const Result<void>& outcome, const std::string& warning) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    process_ = ::fork();
    if (process_ == 0) {
      {
        ClosingServer server(volume, place, {});
        (void)!::write(ready[1], "x", 1);
        while (!mounts_at(place).empty()) std::this_thread::sleep_for(1ms);
        server.close(outcome, warning);
      }
      ::_exit(0);
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  }
  ~DaemonProcess() { ::waitpid(process_, nullptr, 0); }
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

 private:
  pid_t process_ = -1;
};

// A mount whose daemon answers what a commit through the mount asks, holds the lock of its volume, and ends after the unmount.
class AnsweringMount {
 public:
  struct Daemon {
    int synced = 0;                    // the errno of a commit
    bool has_lock = true;              // in the folder that the kernel's list of mounts names
    bool closes_in_good_order = true;  // else its process id stays in the lock
  };

  AnsweringMount(const Path& volume, const Path& place, Daemon daemon)
      : daemon_(daemon), device_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)) {
    if (!device_) ::_exit(kNotAllowedHere);
    if (daemon_.has_lock) {
      lock_ = UniqueFd(::open((volume / kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      EXPECT_EQ(::flock(lock_.get(), LOCK_EX), 0);
      EXPECT_EQ(::write(lock_.get(), "12\n", 3), 3);
    }
    const std::string options =
        fmt::format("fd={},rootmode=40000,user_id={},group_id={}", device_.get(), ::geteuid(), ::getegid());
    if (::mount(volume.c_str(), place.c_str(), "fuse.dedupfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
      end_without_mount();
    thread_ = std::thread([this] { run(); });
  }
  ~AnsweringMount() {
    ends_ = true;
    thread_.join();
  }
  AnsweringMount(const AnsweringMount&) = delete;
  AnsweringMount& operator=(const AnsweringMount&) = delete;

  std::atomic<int> commits = 0;

 private:
  void run() {
    std::vector<char> request(1 << 20);
    while (!ends_) {
      pollfd event{device_.get(), POLLIN, 0};
      if (::poll(&event, 1, 10) == 0) continue;
      if (::read(device_.get(), request.data(), request.size()) >= 0)
        answer(*reinterpret_cast<const fuse_in_header*>(request.data()));
      else if (errno == ENODEV)
        break;
    }
    if (!lock_) return;
    if (daemon_.closes_in_good_order) (void)!::ftruncate(lock_.get(), 0);
    std::this_thread::sleep_for(20ms);
    lock_.reset();
  }

  void answer(const fuse_in_header& request) {
    switch (request.opcode) {
      case FUSE_INIT: {
        fuse_init_out init{};
        init.major = FUSE_KERNEL_VERSION;
        init.minor = FUSE_KERNEL_MINOR_VERSION;
        init.max_write = 4096;
        return send(request, 0, init);
      }
      case FUSE_STATFS: return send(request, 0, fuse_statfs_out{});
      case FUSE_OPENDIR: return send(request, 0, fuse_open_out{});
      case FUSE_GETATTR: {
        fuse_attr_out attributes{};
        attributes.attr.ino = FUSE_ROOT_ID;
        attributes.attr.mode = S_IFDIR | 0755;
        attributes.attr.uid = ::geteuid();
        attributes.attr.gid = ::getegid();
        return send(request, 0, attributes);
      }
      case FUSE_FSYNCDIR: ++commits; return send(request, daemon_.synced);
      case FUSE_RELEASEDIR: return send(request, 0);
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT: return;
      default: return send(request, ENOSYS);
    }
  }
  template <class... Body>
  void send(const fuse_in_header& request, int error, const Body&... body) {
    std::string answer(sizeof(fuse_out_header), '\0');
    (answer.append(reinterpret_cast<const char*>(&body), sizeof body), ...);
    const fuse_out_header header{static_cast<std::uint32_t>(answer.size()), -error, request.unique};
    std::memcpy(answer.data(), &header, sizeof header);
    (void)!::write(device_.get(), answer.data(), answer.size());
  }

  const Daemon daemon_;
  UniqueFd device_;
  UniqueFd lock_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

TEST_F(UnmountVolume, WhereNoVolumeIsMountedIsNotFound) {
  in_private_mounts([&] {
    EXPECT_EQ(run().error().code(), ErrorCode::kNotFound);
    mount_tmpfs(place);
    EXPECT_EQ(run().error().code(), ErrorCode::kNotFound);
    EXPECT_TRUE(is_mounted()) << "a mount of something else is not touched";
  });
}

TEST_F(UnmountVolume, WithoutADaemonTheMountGoesAllTheSame) {
  in_private_mounts([&] {
    SilentMount(volume, place).die();
    EXPECT_TRUE(run());
    EXPECT_FALSE(is_mounted());
  });
}

TEST_F(UnmountVolume, TheMountStaysWhereItsChangesCannotBeMadeDurable) {
  in_private_mounts([&] {
    const SilentMount mount(volume, place);
    ClosingServer daemon(volume, place, Error{ErrorCode::kNoSpace, "the disk is full"});

    const auto result = run();

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kIo);
    EXPECT_THAT(result.error().message(), HasSubstr("the disk is full"));
    EXPECT_TRUE(is_mounted());
    EXPECT_EQ(daemon.syncs, 1);
  });
}

TEST_F(UnmountVolume, ALazyUnmountDoesNotWaitForTheEnd) {
  in_private_mounts([&] {
    const SilentMount mount(volume, place);
    ClosingServer daemon(volume, place, {});

    EXPECT_TRUE(run(UnmountMode::kLazy));

    EXPECT_EQ(daemon.syncs, 1);
    EXPECT_FALSE(is_mounted());
  });
}

TEST_F(UnmountVolume, ForceGoesOnWithoutWhatCannotBeMadeDurable) {
  in_private_mounts([&] {
    const SilentMount mount(volume, place);
    ClosingServer daemon(volume, place, Error{ErrorCode::kNoSpace, "the disk is full"});

    const auto result = run(UnmountMode::kForce);

    EXPECT_FALSE(is_mounted());
    ASSERT_FALSE(result) << "nobody says that the volume is closed";
    EXPECT_EQ(result.error().code(), ErrorCode::kInterrupted);
    EXPECT_THAT(result.error().message(), HasSubstr("some changes may not be durable"));
  });
}

TEST_F(UnmountVolume, IsDoneWhenTheDaemonHasClosedTheVolumeAndEnded) {
  in_private_mounts([&] {
    const SilentMount mount(volume, place);
    const DaemonProcess daemon(volume, place, {}, "no checkpoint");

    EXPECT_TRUE(run());

    EXPECT_FALSE(is_mounted());
    EXPECT_THAT(said, ElementsAre(HasSubstr("committing"), HasSubstr("is unmounted"), "warning: no checkpoint",
                                  HasSubstr("is closed")));
  });
}

TEST_F(UnmountVolume, WhatTheDaemonCouldNotCloseIsTold) {
  in_private_mounts([&] {
    const SilentMount mount(volume, place);
    const DaemonProcess daemon(volume, place, Error{ErrorCode::kIo, "the disk died"}, "");

    const auto result = run();

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kInterrupted) << "it is unmounted";
    EXPECT_THAT(result.error().message(), HasSubstr("the disk died"));
    EXPECT_THAT(result.error().message(), HasSubstr("the last changes may be lost"));
    EXPECT_FALSE(is_mounted());
  });
}

TEST_F(UnmountVolume, AnotherProgramAtTheSocketIsNotAsked) {
  in_private_mounts([&] {
    const AnsweringMount mount(volume, place, {});
    ClosingServer daemon(volume, place, {}, "0:4711");

    EXPECT_TRUE(run());

    EXPECT_EQ(mount.commits, 1) << "it goes through the mount";
    EXPECT_EQ(daemon.syncs, 0);
    EXPECT_THAT(said, Contains(HasSubstr("another program than the daemon of this mount")));
    EXPECT_FALSE(is_mounted());
  });
}

TEST_F(UnmountVolume, ADaemonThatDoesNotAnswerKeepsTheMountUnlessForced) {
  in_private_mounts([&] {
    const SilentMount mount(volume, place);
    const UniqueFd daemon = silent_socket(volume);

    const auto result = run();

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kBusy);
    EXPECT_THAT(result.error().message(), HasSubstr("does not answer"));
    EXPECT_TRUE(is_mounted());
    EXPECT_EQ(run(UnmountMode::kForce).error().code(), ErrorCode::kInterrupted) << "nobody knows what it had";
    EXPECT_FALSE(is_mounted());
  });
}

TEST_F(UnmountVolume, AMountInUseStaysOrBecomesReadOnlyIfThatIsAskedFor) {
  in_private_mounts([&] {
    const SilentMount mount(volume, place);
    const ClosingServer daemon(volume, place, {});
    const UniqueFd user(::open(place.c_str(), O_PATH | O_CLOEXEC));

    EXPECT_EQ(run().error().code(), ErrorCode::kBusy);
    EXPECT_THAT(mounts_at(place).at(0).mount_options, HasSubstr("rw"));
    const auto protected_mount = run(UnmountMode::kNormal, /*read_only_on_failure=*/true);
    ASSERT_TRUE(protected_mount);
    EXPECT_FALSE(protected_mount->elsewhere);
    EXPECT_THAT(mounts_at(place).at(0).mount_options, HasSubstr("ro"));
  });
}

// A daemon that cannot be asked holds the lock of its volume to the last moment.
TEST_F(UnmountVolume, TheLockOfTheVolumeIsWaitedFor) {
  in_private_mounts([&] {
    const AnsweringMount mount(volume, place, {.has_lock = false});
    UniqueFd lock(::open((volume / kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);

    const auto result = run();

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kInterrupted);
    EXPECT_THAT(result.error().message(), HasSubstr("the lock of " + volume.string()));
    EXPECT_FALSE(is_mounted());
  });
}

TEST_F(UnmountVolume, WithoutASocketTheMountStaysWhereItsChangesCannotBeMadeDurable) {
  in_private_mounts([&] {
    const AnsweringMount mount(volume, place, {.synced = EIO, .closes_in_good_order = false});

    const auto kept = run();

    ASSERT_FALSE(kept);
    EXPECT_EQ(kept.error().code(), ErrorCode::kIo);
    EXPECT_THAT(kept.error().message(), HasSubstr("cannot be made durable"));
    EXPECT_TRUE(is_mounted());

    const auto forced = run(UnmountMode::kForce);

    ASSERT_FALSE(forced) << "they are lost";
    EXPECT_EQ(forced.error().code(), ErrorCode::kInterrupted);
    EXPECT_FALSE(is_mounted());
  });
}

TEST_F(UnmountVolume, ADaemonThatDidNotCloseItsVolumeInGoodOrderMayHaveLostChanges) {
  in_private_mounts([&] {
    const AnsweringMount mount(volume, place, {.closes_in_good_order = false});
    expect_uncertain("did not close");
  });
}

// As after a move of the folder.
TEST_F(UnmountVolume, WhereNeitherSocketNorLockIsFoundNothingIsCertain) {
  in_private_mounts([&] {
    const AnsweringMount mount(volume, place, {.has_lock = false});
    expect_uncertain("some changes may not be durable");
  });
}

TEST_F(UnmountVolume, AReadOnlyMountNeedsNeither) {
  in_private_mounts([&] {
    const AnsweringMount mount(volume, place, {.has_lock = false});
    ASSERT_EQ(::mount(nullptr, place.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);

    EXPECT_TRUE(run());
    EXPECT_FALSE(is_mounted());
  });
}

TEST_F(UnmountVolume, AMountThatDoesNotAnswerStaysUnlessForced) {
  in_private_mounts([&] {
    const SilentMount mount(volume, place);

    const auto result = run();

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kBusy);
    EXPECT_THAT(result.error().message(), HasSubstr("does not answer"));
    EXPECT_TRUE(is_mounted());
    EXPECT_EQ(run(UnmountMode::kForce).error().code(), ErrorCode::kInterrupted);
    EXPECT_FALSE(is_mounted());
  });
}

TEST_F(UnmountVolume, ABoundMountKeepsItsDaemon) {
  std::filesystem::create_directory(folder.path() / "bound");
  in_private_mounts([&] {
    const SilentMount mount(volume, place);
    ASSERT_EQ(::mount(place.c_str(), (folder.path() / "bound").c_str(), nullptr, MS_BIND, nullptr), 0);
    ClosingServer daemon(volume, place, {});

    const auto unmounted = run();

    ASSERT_TRUE(unmounted);
    EXPECT_FALSE(is_mounted());
    EXPECT_EQ(unmounted->elsewhere, folder.path() / "bound");
  });
}

}  // namespace
}  // namespace dedupfs
