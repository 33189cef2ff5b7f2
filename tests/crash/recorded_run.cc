#include "crash/recorded_run.h"

#include <algorithm>
#include <thread>

#include "base/check.h"
#include "store/format/superblock.h"
#include "store/seal/key_rotation.h"
#include "store/seal/sealed_backing.h"
#include "store/volume/encrypted_creation.h"

namespace dedupfs {
namespace {

constexpr Caller kCaller{.uid = 0, .gid = 0, .umask = 0};

void put(std::string& content, std::size_t offset, const std::string& bytes) {
  if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size());
  content.replace(offset, bytes.size(), bytes);
}

Result<void> nothing_of(const Result<Attributes>& made, Filesystem& filesystem) {
  if (!made) return made.error();
  filesystem.forget(made->inode, 1);
  return {};
}

VolumeSettings small_settings() {
  VolumeSettings settings;
  settings.chunker = "vram:avg=4k,min=1k,max=16k";
  settings.region_bytes = 16 << 10;
  return settings;
}

constexpr int kMostRotations = 12;
// Each master key has its own.
std::string passphrase(int rotations) {
  return "passphrase " + std::to_string(rotations);
}
const KdfSettings kQuickKdf{.memory_kib = 8, .passes = 1, .lanes = 1};

Result<Superblock> make_small_volume_on(const std::shared_ptr<MemoryDisk>& disk, Sealing sealing) {
  if (sealing == Sealing::kPlain) return Volume::create(kVolumePath, small_settings(), disk);
  EncryptionSettings encryption;
  encryption.passphrase = Secret(bytes_of(passphrase(0)));
  encryption.kdf = kQuickKdf;
  return create_encrypted_volume(kVolumePath, small_settings(), encryption, disk);
}

// A crash leaves the passphrase of before a rotation, or of after it.
Result<UnlockedKey> unlock_by_any(const KeyHeader& header) {
  for (int rotations = kMostRotations; rotations > 0; --rotations)
    if (auto found = unlock(header, bytes_of(passphrase(rotations)))) return found;
  return unlock(header, bytes_of(passphrase(0)));
}

}  // namespace

History::Range History::allowed_at(std::size_t position) const {
  Range range{0, 0};
  if (states.empty()) return range;  // it was never open
  for (const Acknowledgement& acknowledgement : acknowledgements)
    if (acknowledgement.events <= position) range.first = std::max(range.first, acknowledgement.state);
  // An operation that began when this many events were on the disk may be in what came then.
  range.last = static_cast<std::size_t>(std::ranges::upper_bound(begun, position) - begun.begin());
  range.last = std::max(range.first, std::min(range.last, states.size() - 1));
  return range;
}

DiskImage make_small_volume(Sealing sealing) {
  const auto disk = std::make_shared<MemoryDisk>();
  auto superblock = make_small_volume_on(disk, sealing);
  DEDUPFS_CHECK(superblock.has_value());
  superblock->container_bytes = kMinContainerBytes;
  DEDUPFS_CHECK(write_superblock(**unlocked(disk)->open_root(kVolumePath), *superblock).has_value());
  {
    const auto mounted = open_filesystem(disk);
    DEDUPFS_CHECK(mounted && (*mounted)->close());
  }
  return disk->image();
}

Sealing sealing_of(const DiskImage& volume) {
  return volume.names.contains(std::string(kVolumePath) + "/unmounted") ? Sealing::kEncrypted : Sealing::kPlain;
}

std::shared_ptr<const VolumeKey> key_of(const DiskImage& volume) {
  const auto folder = std::make_shared<MemoryDisk>(volume)->open_root(kVolumePath);
  const auto header = folder ? read_key_header(**folder) : Result<std::optional<KeyHeader>>(folder.error());
  if (!header || !*header) return nullptr;
  const auto found = unlock_by_any(**header);
  return found ? found->key : nullptr;
}

std::shared_ptr<Backing> unlocked(const std::shared_ptr<Backing>& disk) {
  auto key_of = [](const Path&, const KeyHeader& header) -> Result<std::shared_ptr<const VolumeKey>> {
    DEDUPFS_ASSIGN(UnlockedKey unlocked_key, unlock_by_any(header));
    return std::move(unlocked_key.key);
  };
  return std::make_shared<SealedBacking>(disk, std::move(key_of));
}

Result<std::unique_ptr<Filesystem>> open_filesystem(const std::shared_ptr<MemoryDisk>& disk, const RunOptions& run) {
  VolumeOptions options;
  options.threads = 1;
  options.index_memory_bytes = Database::kMinMemoryBytes;
  options.cache_bytes = 8 << 20;
  options.slow_bytes = 0;                             // what can be compressed lands
  options.index_patience = std::chrono::seconds(20);  // RocksDB forgets a flush now and then
  const std::shared_ptr<Backing> seen = run.seen_through ? run.seen_through(disk) : disk;
  DEDUPFS_ASSIGN(auto volume, Volume::open(kVolumePath, options, unlocked(seen)));
  FilesystemOptions filesystem;
  filesystem.commit_interval = run.commit_interval;
  filesystem.background_patience = {};
  filesystem.defragment_percent = run.defragment_percent;
  filesystem.dirty_bytes = 8 << 20;
  return Filesystem::open(std::move(volume), filesystem);
}

RecordedRun::RecordedRun(DiskImage start, const RunOptions& options)
    : options_(options), disk_(std::make_shared<MemoryDisk>(start)) {
  history_.start = std::move(start);
}

void RecordedRun::failed(const std::string& what, const Error& error) {
  ++history_.errors;
  if (!tolerates_errors_) history_.problems.push_back(what + " failed: " + error.message());
}

void RecordedRun::remember_tree() {
  const MemoryDisk::FaultsPaused paused;
  const Result<Tree> tree = tree_of(model_, *filesystem_);
  if (!tree) {
    history_.problems.push_back("the tree cannot be read: " + tree.error().message());
    throw RunEnded();
  }
  std::string text = std::move(tree->text);
  for (const auto& [name, snapshot] : snapshots_) text += in_snapshot(name, snapshot.tree);
  history_.states.push_back(std::move(text));
}

void RecordedRun::make_volume() {
  history_.from_nothing = true;
  const auto made = make_small_volume_on(disk_, options_.sealing);
  if (!made) {
    failed("making the volume", made.error());
    throw RunEnded();
  }
  history_.acknowledgements.push_back({disk_->event_count(), 0});
}

void RecordedRun::open() {
  auto opened = open_filesystem(disk_, options_);
  if (!opened) {
    failed("opening", opened.error());
    throw RunEnded();
  }
  filesystem_ = std::move(*opened);
  if (history_.states.empty()) {
    // The root is what the filesystem made it.
    const Result<Attributes> root = filesystem_->attributes(kRootInode);
    if (root) {
      model_.root()->mode = root->mode;
      model_.root()->uid = root->uid;
      model_.root()->gid = root->gid;
    }
    remember_tree();
  }
  if (options_.companion) options_.companion->opened(*this);
}

bool RecordedRun::acknowledge(const std::string& what, const Result<void>& result) {
  if (result)
    history_.acknowledgements.push_back({disk_->event_count(), history_.states.size() - 1});
  else
    failed(what, result.error());
  return result.has_value();
}

void RecordedRun::acknowledge_open(const std::string& what, const Result<void>& result) {
  if (acknowledge(what, result) && options_.companion) options_.companion->acknowledged(*this);
}

void RecordedRun::close() {
  if (options_.companion) options_.companion->closing();
  acknowledge("closing", filesystem_->close());
  filesystem_.reset();
}

void RecordedRun::reopen() {
  const std::size_t errors = history_.errors;
  close();
  if (history_.errors != errors) throw RunEnded();  // what was not stored is gone: the model would be ahead
  open();
}

void RecordedRun::rotate_key() {
  const std::size_t errors = history_.errors;
  close();
  if (history_.errors != errors) throw RunEnded();
  const auto rotated = [&]() -> Result<void> {
    DEDUPFS_ASSIGN(const auto folder, disk_->open_root(kVolumePath));
    DEDUPFS_ASSIGN(auto header, read_key_header(*folder));
    if (!header) return {};
    DEDUPFS_ASSIGN(const UnlockedKey unlocked_key, unlock_by_any(*header));
    const std::string anew = passphrase(++rotations_);
    DEDUPFS_CHECK(rotations_ <= kMostRotations);  // see unlock_by_any()
    DEDUPFS_TRY(rotate_master_key(*folder, *header, unlocked_key,
                                  {.bytes = bytes_of(anew), .name = "passphrase", .kdf = kQuickKdf}));
    return {};
  }();
  if (!rotated) failed("a new master key", rotated.error());
  open();
}

void RecordedRun::sync() {
  acknowledge_open("sync", filesystem_->sync());
}

void RecordedRun::begin_reclaim(ReclaimGoal goal) {
  if (const auto begun = filesystem_->reclaimer().start({.goal = goal}); !begun)
    failed("beginning a reclaim", begun.error());
}

void RecordedRun::await_reclaim() {
  const Reclaimer& reclaimer = filesystem_->reclaimer();
  while (reclaimer.status().running) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto ended = reclaimer.status().last;
  if (ended && ended->error) failed("reclaim", *ended->error);
}

void RecordedRun::sync_file(const ModelPtr& node) {
  if (node) acknowledge_open("fsync", filesystem_->sync_file(node->number));
}

void RecordedRun::create_snapshot(const std::string& name) {
  if (snapshots_.contains(name)) return;
  const auto note = [&] {
    const Result<Tree> tree = tree_of(model_, *filesystem_);
    DEDUPFS_CHECK(tree.has_value());
    snapshots_[name] = {model_.copy(), tree->text};
  };
  const bool made = step(
      "making snapshot " + name, [&] { return filesystem_->create_snapshot(name); }, note);
  if (made && !tolerates_errors_) acknowledge_open("making a snapshot", {});
  if (made) return;
  // Its group may be committed all the same, and with the next one it is deleted.
  const MemoryDisk::FaultsPaused paused;
  note();
  remember_tree();
  snapshots_.erase(name);
  remember_tree();
  const std::size_t begun = history_.begun.back();
  history_.begun.insert(history_.begun.end(), 2, begun);
}

void RecordedRun::delete_snapshot(const std::string& name) {
  if (!snapshots_.contains(name)) return;
  const bool deleted = step(
      "deleting snapshot " + name, [&] { return filesystem_->delete_snapshot(name); }, [&] { snapshots_.erase(name); });
  if (deleted && !tolerates_errors_) acknowledge_open("deleting a snapshot", {});
}

void RecordedRun::roll_back(const std::string& name) {
  const auto snapshot = snapshots_.find(name);
  if (snapshot == snapshots_.end()) return;
  const auto real = [&]() -> Result<void> {
    DEDUPFS_TRY(filesystem_->roll_back(name));
    return {};
  };
  const bool done = step("rolling back to " + name, real, [&] { model_ = snapshot->second.model.copy(); });
  if (done && !tolerates_errors_) acknowledge_open("rolling back", {});
}

bool RecordedRun::step(const std::string& what, const std::function<Result<void>()>& real,
                       const std::function<void()>& change) {
  history_.begun.push_back(disk_->event_count());
  const Result<void> done = real();
  bool happened = done.has_value();
  const MemoryDisk::FaultsPaused paused;
  if (!done) {
    failed(what, done.error());
    const Result<Tree> tree = tree_of(*filesystem_);
    happened = tree && tree->text != history_.states.back();
  }
  if (happened) change();
  remember_tree();
  if (!done && happened) {
    const Result<Tree> tree = tree_of(*filesystem_);
    if (!tree || tree->text != history_.states.back())
      history_.problems.push_back(what + " failed and was half done: " +
                                  (tree ? difference(history_.states.back(), tree->text) : tree.error().message()));
  }
  return happened;
}

ModelPtr RecordedRun::make(const ModelPtr& parent, const std::string& name, std::uint32_t mode,
                           const std::string& content, const std::function<Result<Attributes>()>& real) {
  const ModelPtr node = std::make_shared<ModelNode>();
  const bool made = step(
      "making " + name,
      [&]() -> Result<void> {
        const Result<Attributes> attributes = real();
        if (attributes) node->number = attributes->inode;
        return nothing_of(attributes, *filesystem_);
      },
      [&] {
        node->mode = mode;
        node->content = content;
        if (node->is_directory()) node->links = 2;
        FilesystemModel::add(*parent, name, node);
      });
  return made ? node : nullptr;
}

ModelPtr RecordedRun::make_file(const ModelPtr& parent, const std::string& name) {
  if (!parent || FilesystemModel::find(*parent, name)) return nullptr;
  return make(parent, name, S_IFREG | 0644U, {},
              [&] { return filesystem_->create(parent->number, name, 0644, kCaller); });
}

ModelPtr RecordedRun::make_directory(const ModelPtr& parent, const std::string& name) {
  if (!parent || FilesystemModel::find(*parent, name)) return nullptr;
  return make(parent, name, S_IFDIR | 0755U, {},
              [&] { return filesystem_->make_directory(parent->number, name, 0755, kCaller); });
}

ModelPtr RecordedRun::make_symlink(const ModelPtr& parent, const std::string& name, const std::string& target) {
  if (!parent || FilesystemModel::find(*parent, name)) return nullptr;
  return make(parent, name, S_IFLNK | 0777U, target,
              [&] { return filesystem_->make_symlink(parent->number, name, target, kCaller); });
}

void RecordedRun::write(const ModelPtr& file, std::size_t offset, const std::string& bytes) {
  if (!file) return;
  step(
      "writing", [&] { return filesystem_->write(file->number, offset, bytes_of(bytes), kCaller, nullptr); },
      [&] { put(file->content, offset, bytes); });
}

void RecordedRun::truncate(const ModelPtr& file, std::size_t size) {
  if (!file) return;
  step(
      "truncating",
      [&]() -> Result<void> {
        DEDUPFS_TRY(filesystem_->set_attributes(file->number, {.size = size}, kCaller));
        return {};
      },
      [&] { file->content.resize(size); });
}

void RecordedRun::punch(const ModelPtr& file, std::size_t offset, std::size_t length) {
  if (!file || length == 0) return;
  step(
      "punching a hole",
      [&] { return filesystem_->allocate(file->number, offset, length, Filesystem::AllocateMode::kPunchHole); },
      [&] {
        if (offset >= file->content.size()) return;
        const std::size_t zeros = std::min(length, file->content.size() - offset);
        file->content.replace(offset, zeros, zeros, '\0');
      });
}

void RecordedRun::copy_range(const ModelPtr& from, std::size_t from_offset, const ModelPtr& to, std::size_t to_offset,
                             std::size_t length) {
  if (!from || !to || from == to || from_offset >= from->content.size() || length == 0) return;
  step(
      "copying a range",
      [&]() -> Result<void> {
        DEDUPFS_TRY(filesystem_->copy_range(from->number, from_offset, to->number, to_offset, length));
        return {};
      },
      [&] { put(to->content, to_offset, from->content.substr(from_offset, length)); });
}

void RecordedRun::clone(const ModelPtr& file, const ModelPtr& parent, const std::string& name) {
  if (!file || !parent || FilesystemModel::find(*parent, name)) return;
  const ModelPtr copy = std::make_shared<ModelNode>(*file);
  copy->links = 1;
  copy->number = 0;
  step(
      "cloning to " + name,
      [&]() -> Result<void> {
        DEDUPFS_TRY(filesystem_->clone_tree(file->number, parent->number, name));
        const Result<Attributes> attributes = filesystem_->lookup(parent->number, name);
        if (attributes) copy->number = attributes->inode;
        return nothing_of(attributes, *filesystem_);
      },
      [&] { FilesystemModel::add(*parent, name, copy); });
}

void RecordedRun::link(const ModelPtr& node, const ModelPtr& parent, const std::string& name) {
  if (!node || !parent || node->is_directory() || FilesystemModel::find(*parent, name)) return;
  step(
      "linking " + name,
      [&] { return nothing_of(filesystem_->make_link(node->number, parent->number, name), *filesystem_); },
      [&] { FilesystemModel::link(node, *parent, name); });
}

void RecordedRun::unlink(const ModelPtr& parent, const std::string& name) {
  const ModelPtr node = parent ? FilesystemModel::find(*parent, name) : nullptr;
  if (!node || node->is_directory()) return;
  step(
      "unlinking " + name, [&] { return filesystem_->unlink(parent->number, name); },
      [&] { FilesystemModel::unlink(*parent, name); });
}

void RecordedRun::remove_directory(const ModelPtr& parent, const std::string& name) {
  const ModelPtr node = parent ? FilesystemModel::find(*parent, name) : nullptr;
  if (!node || !node->is_directory() || !node->entries.empty()) return;
  step(
      "removing directory " + name, [&] { return filesystem_->remove_directory(parent->number, name); },
      [&] { FilesystemModel::remove_directory(*parent, name); });
}

void RecordedRun::rename(const ModelPtr& from, const std::string& name, const ModelPtr& to, const std::string& new_name,
                         Filesystem::RenameMode mode) {
  if (!from || !to) return;
  // What the model refuses is refused: that was seen to by other tests.
  const ModelPtr node = FilesystemModel::find(*from, name);
  const ModelPtr other = FilesystemModel::find(*to, new_name);
  if (!node || node == other || node->is_directory() || (other && other->is_directory())) return;
  if (mode == Filesystem::RenameMode::kExchange && !other) return;
  if (mode == Filesystem::RenameMode::kNoReplace && other) return;
  step(
      "renaming " + name + " to " + new_name,
      [&] { return filesystem_->rename(from->number, name, to->number, new_name, mode); },
      [&] { FilesystemModel::rename(*from, name, *to, new_name, mode); });
}

void RecordedRun::set_mode(const ModelPtr& node, std::uint32_t mode, std::uint32_t uid) {
  if (!node || is_symlink(node->mode)) return;
  step(
      "changing mode and owner",
      [&]() -> Result<void> {
        DEDUPFS_TRY(filesystem_->set_attributes(node->number, {.mode = mode, .uid = uid}, kCaller));
        return {};
      },
      [&] {
        node->mode = type_bits(node->mode) | mode;
        node->uid = uid;
      });
}

void RecordedRun::set_xattr(const ModelPtr& node, const std::string& name, const std::string& value) {
  if (!node) return;
  step(
      "setting an attribute",
      [&] { return filesystem_->set_xattr(node->number, name, value, Filesystem::XattrMode::kSet); },
      [&] { node->xattrs[name] = value; });
}

void RecordedRun::set_quota(std::uint64_t files) {
  step(
      "setting a quota",
      [&] { return filesystem_->set_quota(kRootInode, {.logical_bytes = kMaxQuotaLimit, .files = files}); }, [] {});
}

void RecordedRun::remove_quota() {
  if (filesystem_->quotas().empty()) return;
  step(
      "removing a quota", [&] { return filesystem_->remove_quota(kRootInode); }, [] {});
}

History RecordedRun::finish() {
  if (filesystem_ && options_.companion) options_.companion->closing();
  history_.events = disk_->events();
  filesystem_.reset();
  return std::move(history_);
}

}  // namespace dedupfs
