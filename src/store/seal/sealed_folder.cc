#include "store/seal/sealed_folder.h"

#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "base/watched_lock.h"
#include "store/format/format.h"
#include "store/seal/key_header.h"
#include "store/seal/sealed_names.h"

namespace dedupfs {
namespace {

class SealedFile final : public BackingFile {
 public:
  SealedFile(std::shared_ptr<SealedTree> tree, std::shared_ptr<SealedNode> node, std::unique_ptr<BackingFile> real,
             bool is_writable)
      : tree_(std::move(tree)), node_(std::move(node)), real_(std::move(real)), is_writable_(is_writable) {
    if (is_writable_) tree_->opened_for_writing(*node_);
  }
  SealedFile(const SealedFile&) = delete;
  SealedFile& operator=(const SealedFile&) = delete;
  ~SealedFile() override {
    if (!is_writable_) return;
    (void)survive("closing a sealed file", [&] { tree_->closed_for_writing(*node_, *real_); });
  }

  const Path& path() const override { return real_->path(); }
  Result<std::size_t> read_up_to(std::uint64_t offset, MutableByteSpan out) const override {
    return node_->content->read_up_to(*real_, offset, out);
  }
  Result<void> write(std::uint64_t offset, ByteSpan data) override {
    DEDUPFS_TRY(tree_->begin_change_of(*node_));
    return node_->content->write(*real_, offset, data);
  }
  Result<void> truncate(std::uint64_t size) override {
    DEDUPFS_TRY(tree_->begin_change_of(*node_));
    return node_->content->truncate(*real_, size);
  }
  Result<std::uint64_t> size() const override { return node_->content->size(); }
  Result<void> datasync() override { return node_->content->datasync(*real_); }
  Result<bool> try_lock(LockMode mode) override { return real_->try_lock(mode); }
  void drop_cached(std::uint64_t offset, std::uint64_t length) const override {
    node_->content->drop_cached(*real_, offset, length);
  }
  // What is sealed lies a little behind where it seems to be.
  bool is_near(std::uint64_t offset, std::uint64_t length) const override { return real_->is_near(offset, length); }

 private:
  const std::shared_ptr<SealedTree> tree_;
  const std::shared_ptr<SealedNode> node_;
  const std::unique_ptr<BackingFile> real_;
  const bool is_writable_;
};

}  // namespace

bool SealedFolder::passes(std::string_view name) const {
  return is_root() && is_clear(name);
}

std::string SealedFolder::on_disk(std::string_view name) const {
  return is_root() ? name_on_disk(name) : std::string(name);
}

std::string SealedFolder::path_in_volume(std::string_view name_on_disk) const {
  return is_root() ? std::string(name_on_disk) : where_ + '/' + std::string(name_on_disk);
}

Result<std::unique_ptr<BackingFile>> SealedFolder::open_clear(std::string_view name, Mode mode) {
  auto opened = real_->open(name, mode);
  if (name != kLockFile) return opened;
  if (!opened) {
    // Every writer leaves a lock file, so nobody writes here, and readers go on without it.
    if (opened.error().code() == ErrorCode::kNotFound) DEDUPFS_TRY(tree_->lock_is_held());
    return opened;
  }
  // It must be held until the tree has written its list. Who gets it compares the files with the last list.
  std::shared_ptr<BackingFile> lock(std::move(*opened));
  tree_->keep_lock(lock);
  return std::make_unique<WatchedLock>(std::move(lock), [tree = tree_] { return tree->lock_is_held(); });
}

Result<std::unique_ptr<BackingFile>> SealedFolder::open(std::string_view name, Mode mode) {
  if (passes(name)) return open_clear(name, mode);
  const std::string file = on_disk(name);
  if (mode == Mode::kCreate || mode == Mode::kOpenOrCreate) {
    DEDUPFS_ASSIGN(const bool is_there, real_->exists(file));
    if (!is_there) DEDUPFS_TRY(tree_->begin_change());
  }
  DEDUPFS_ASSIGN(auto opened, tree_->open(path_in_volume(file), [&] { return real_->open(file, mode); }));
  return std::make_unique<SealedFile>(tree_, std::move(opened.node), std::move(opened.real), mode != Mode::kRead);
}

Result<std::shared_ptr<BackingFolder>> SealedFolder::open_folder(std::string_view name) {
  DEDUPFS_ASSIGN(auto real, real_->open_folder(on_disk(name)));
  return std::make_shared<SealedFolder>(tree_, std::move(real), path_in_volume(name));
}

Result<void> SealedFolder::make_folder(std::string_view name) {
  DEDUPFS_TRY(tree_->begin_change());
  return real_->make_folder(on_disk(name));
}

Result<void> SealedFolder::remove_folder(std::string_view name) {
  DEDUPFS_TRY(tree_->begin_change());
  return real_->remove_folder(on_disk(name));
}

Result<void> SealedFolder::rename(std::string_view name, BackingFolder& to, std::string_view new_name) {
  auto& target = static_cast<SealedFolder&>(to);  // backing.h: of the same Backing
  const std::string old_path = path_in_volume(on_disk(name));
  const std::string new_path = target.path_in_volume(target.on_disk(new_name));
  DEDUPFS_ASSIGN(const Type type, real_->type(on_disk(name)));
  const bool keeps_keys = type == Type::kDirectory ? place_of(old_path + "/x") == place_of(new_path + "/x")
                                                   : place_of(old_path) == place_of(new_path);
  if (!keeps_keys && type != Type::kMissing)
    return invalid_argument(old_path + " of an encrypted volume cannot be renamed to " + new_path);
  DEDUPFS_TRY(tree_->begin_change());
  return tree_->rename(old_path, new_path,
                       [&] { return real_->rename(on_disk(name), *target.real_, target.on_disk(new_name)); });
}

Result<void> SealedFolder::link(std::string_view name, BackingFolder& to, std::string_view new_name) {
  auto& target = static_cast<SealedFolder&>(to);
  const std::string old_path = path_in_volume(on_disk(name));
  const std::string new_path = target.path_in_volume(target.on_disk(new_name));
  if (place_of(old_path) != place_of(new_path))
    return invalid_argument(old_path + " of an encrypted volume cannot be linked to " + new_path);
  DEDUPFS_TRY(tree_->begin_change());
  return tree_->link(old_path, new_path,
                     [&] { return real_->link(on_disk(name), *target.real_, target.on_disk(new_name)); });
}

Result<void> SealedFolder::unlink(std::string_view name) {
  if (passes(name)) return real_->unlink(name);
  DEDUPFS_TRY(tree_->begin_change());
  return tree_->remove(path_in_volume(on_disk(name)), [&] { return real_->unlink(on_disk(name)); });
}

Result<void> SealedFolder::sync() {
  DEDUPFS_TRY(tree_->sync_ends(where_, *real_));
  return real_->sync();
}

Result<std::vector<std::string>> SealedFolder::list() {
  DEDUPFS_ASSIGN(std::vector<std::string> names, real_->list());
  if (!is_root()) return names;
  std::vector<std::string> shown;
  for (const std::string& name : names)
    if (std::string inner = name_in_volume(name); !inner.empty()) shown.push_back(std::move(inner));
  std::ranges::sort(shown);
  return shown;
}

std::shared_ptr<BackingFolder> create_sealed_folder(std::shared_ptr<BackingFolder> folder,
                                                    std::shared_ptr<const VolumeKey> key) {
  return std::make_shared<SealedFolder>(SealedTree::create(folder, std::move(key)), folder, "");
}

std::shared_ptr<BackingFolder> open_sealed_folder(std::shared_ptr<BackingFolder> folder,
                                                  std::shared_ptr<const VolumeKey> key, SealedTree::Judge judge) {
  return std::make_shared<SealedFolder>(SealedTree::open(folder, std::move(key), std::move(judge)), folder, "");
}

std::vector<Error> damage_of_hidden_key_header(const BackingFolder& folder) {
  const auto* const sealed = dynamic_cast<const SealedFolder*>(&folder);
  return sealed == nullptr ? std::vector<Error>() : damage_of_key_header(*sealed->real_, sealed->tree_->key().master());
}

Result<std::optional<std::string>> repair_hidden_key_header(BackingFolder& folder) {
  const auto* const sealed = dynamic_cast<const SealedFolder*>(&folder);
  return sealed == nullptr ? std::optional<std::string>()
                           : repair_key_header(*sealed->real_, sealed->tree_->key().master());
}

Result<void> compare_all_files(BackingFolder& folder) {
  const auto* const sealed = dynamic_cast<const SealedFolder*>(&folder);
  return sealed == nullptr ? Result<void>() : sealed->tree_->compare_all();
}

std::vector<Error> differences_of(const BackingFolder& folder) {
  const auto* const sealed = dynamic_cast<const SealedFolder*>(&folder);
  return sealed == nullptr ? std::vector<Error>() : sealed->tree_->differences();
}

std::optional<VolumeGeneration> generation_of(const BackingFolder& folder) {
  const auto* const sealed = dynamic_cast<const SealedFolder*>(&folder);
  if (sealed == nullptr) return std::nullopt;
  const VolumeRecord last = sealed->tree_->last_record();
  return VolumeGeneration{last.generation, last.is_closed ? std::optional(last.unix_seconds) : std::nullopt};
}

Result<void> take_files_as_they_are(BackingFolder& folder) {
  const auto* const sealed = dynamic_cast<const SealedFolder*>(&folder);
  return sealed == nullptr ? Result<void>() : sealed->tree_->take_files_as_they_are();
}

std::set<std::string> outdated_files(const BackingFolder& volume) {
  const auto* const sealed = dynamic_cast<const SealedFolder*>(&volume);
  return sealed == nullptr ? std::set<std::string>() : sealed->tree_->outdated_files();
}

std::shared_ptr<BackingFolder> folder_on_disk(const std::shared_ptr<BackingFolder>& folder) {
  const auto* const sealed = dynamic_cast<const SealedFolder*>(folder.get());
  return sealed == nullptr ? folder : sealed->real_;
}

std::shared_ptr<BackingFolder> sealed_like(const BackingFolder& model, std::shared_ptr<BackingFolder> other) {
  const auto* const sealed = dynamic_cast<const SealedFolder*>(&model);
  if (sealed == nullptr) return other;
  auto scratch = SealedTree::scratch(*sealed->tree_, other);
  return std::make_shared<SealedFolder>(std::move(scratch), std::move(other), "");
}

}  // namespace dedupfs
