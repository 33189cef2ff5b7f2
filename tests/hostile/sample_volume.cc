#include "hostile/sample_volume.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "fs/namespace/filesystem.h"
#include "fs/namespace/posix_acl.h"
#include "hostile/random.h"
#include "store/format/container_format.h"
#include "store/metadata/checkpoint.h"

namespace dedupfs {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

std::string noise(std::size_t bytes, std::uint64_t seed) {
  return Random(seed).bytes(bytes);
}

// Every 3,000th byte is another: what it is made of is stored as deltas.
std::string nearly(std::string text) {
  for (std::size_t at = 500; at < text.size(); at += 3000) text[at] = static_cast<char>(text[at] ^ 1);
  return text;
}

std::string access_list() {
  PosixAcl acl =
      must(PosixAcl::decode(std::string("\x02\0\0\0"
                                        "\x01\0\x06\0\xff\xff\xff\xff"
                                        "\x02\0\x04\0\xe8\x03\0\0"
                                        "\x04\0\x04\0\xff\xff\xff\xff"
                                        "\x10\0\x04\0\xff\xff\xff\xff"
                                        "\x20\0\x04\0\xff\xff\xff\xff",
                                        44)));
  return acl.encode();
}

class Session {
 public:
  explicit Session(const Path& path) {
    VolumeOptions options;
    options.threads = 1;
    options.index_memory_bytes = 16 << 20;
    FilesystemOptions quiet;
    quiet.commit_interval = std::chrono::hours(1);
    quiet.checkpoint_interval = std::chrono::hours(0);
    quiet.background_patience = {};
    filesystem_ = must(Filesystem::open(must(Volume::open(path, options)), quiet));
  }
  ~Session() { static_cast<void>(filesystem_->close()); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Filesystem& operator*() const { return *filesystem_; }
  Filesystem* operator->() const { return filesystem_.get(); }

  InodeNumber file(InodeNumber parent, std::string_view name, std::string_view content = {}) const {
    const InodeNumber inode = must(filesystem_->create(parent, name, 0644, {})).inode;
    if (!content.empty()) write(inode, 0, content);
    return inode;
  }
  InodeNumber directory(InodeNumber parent, std::string_view name) const {
    return must(filesystem_->make_directory(parent, name, 0755, {})).inode;
  }
  void write(InodeNumber inode, std::uint64_t offset, std::string_view content) const {
    must(filesystem_->write(inode, offset, bytes_of(content), {}, nullptr));
  }
  InodeNumber find(InodeNumber parent, std::string_view name) const {
    return must(filesystem_->lookup(parent, name)).inode;
  }
  void attribute(InodeNumber inode, std::string_view name, std::string_view value) const {
    must(filesystem_->set_xattr(inode, name, value, Filesystem::XattrMode::kSet));
  }

 private:
  std::unique_ptr<Filesystem> filesystem_;
};

void fill(const Path& volume) {
  const Session session(volume);
  const InodeNumber folder = session.directory(kRootInode, "folder");
  const InodeNumber below = session.directory(folder, "below");
  const InodeNumber one = session.file(folder, "one", noise(150'000, 1));
  must(session->make_link(one, kRootInode, "second name of one"));
  const InodeNumber tiny = session.file(kRootInode, "tiny", "tiny");
  session.attribute(tiny, "user.name", "value");
  session.attribute(tiny, "user.long", noise(3000, 2));
  session.attribute(tiny, std::string(kAccessAclName), access_list());
  session.attribute(below, std::string(kDefaultAclName), access_list());
  session.file(below, "heir", "inherits");
  session.file(kRootInode, "empty");
  must(session->make_symlink(kRootInode, "link", "folder/one", {}));
  must(session->make_node(kRootInode, "pipe", S_IFIFO | 0600, 0, {}));
  must(session->make_node(kRootInode, "device", S_IFCHR | 0600, 0x103, {}));
  const InodeNumber sparse = session.file(kRootInode, "sparse");
  session.write(sparse, 0, noise(20'000, 3));
  session.write(sparse, 3'000'000, noise(20'000, 4));
  const InodeNumber many = session.directory(kRootInode, "many");
  for (int i = 0; i < 30; ++i) session.file(many, fmt::format("name {}", i), fmt::format("content {}", i));
  must(session->create_snapshot("first"));
}

void change(const Path& volume) {
  const Session session(volume);
  const InodeNumber folder = session.find(kRootInode, "folder");
  session.file(kRootInode, "nearly one", nearly(noise(150'000, 1)));
  session.write(session.find(folder, "one"), 70'000, noise(5'000, 5));
  must(session->unlink(session.find(kRootInode, "many"), "name 7"));
  must(session->create_snapshot("second"));
  session.write(session.find(kRootInode, "tiny"), 2, "changed");
  must(session->rename(kRootInode, "empty", folder, "moved", Filesystem::RenameMode::kReplace));
  must(session->create_snapshot("third"));
  must(session->create_snapshot("to be deleted"));
  must(session->set_attributes(session.find(kRootInode, "sparse"), {.size = 3'010'000}, {}));
  must(session->delete_snapshot("to be deleted"));
}

void take_checkpoint(const Path& path) {
  VolumeOptions options;
  options.read_only = true;
  options.threads = 1;
  options.index_memory_bytes = 16 << 20;
  const auto volume = must(Volume::open(path, options));
  const Checkpoints checkpoints(volume->folder(), must(parse_uuid(volume->superblock().uuid)));
  must(checkpoints.write(volume->database(), [](std::uint64_t) { return true; }));
}

// A file whose chunks cannot be read, and an orphan that somebody had open to the end.
void damage(const Path& volume) {
  {
    const Session session(volume);
    session.file(kRootInode, "damaged", noise(40'000, 6));
    const InodeNumber orphan = session.file(kRootInode, "orphan", noise(10'000, 7));
    must(session->open_file(orphan, false, {}));
    must(session->unlink(kRootInode, "orphan"));
  }
  std::vector<Path> containers;
  for (const auto& file : std::filesystem::directory_iterator(volume / kContainersDirectory))
    containers.push_back(file.path());
  std::fstream file(*std::ranges::max_element(containers), std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(*std::ranges::max_element(containers)) / 2));
  file << "damage";
  file.close();
  const Session session(volume);
  const InodeNumber damaged = session.find(kRootInode, "damaged");
  static_cast<void>(session->read(damaged, 0, 40'000));
  session.file(kRootInode, "last", noise(12'000, 8));
}

}  // namespace

void make_sample_volume(const Path& volume) {
  VolumeSettings settings;
  settings.chunker = "vram:avg=4k,min=1k,max=16k";  // small: short files have many chunks
  settings.region_bytes = 32 << 10;
  must(Volume::create(volume, settings));
  fill(volume);
  change(volume);
  take_checkpoint(volume);
  damage(volume);
  take_checkpoint(volume);
}

}  // namespace dedupfs
