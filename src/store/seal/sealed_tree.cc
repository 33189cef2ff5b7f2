#include "store/seal/sealed_tree.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "store/format/format.h"
#include "store/seal/sealed_names.h"

namespace dedupfs {
SealedTree::SealedTree(std::shared_ptr<BackingFolder> folder, std::shared_ptr<const VolumeKey> key, Purpose purpose)
    : folder_(std::move(folder)), key_(std::move(key)), purpose_(purpose) {
  fill_randomly(session_);
  sessions_ = {session_};
}

std::shared_ptr<SealedTree> SealedTree::create(std::shared_ptr<BackingFolder> folder,
                                               std::shared_ptr<const VolumeKey> key) {
  return std::shared_ptr<SealedTree>(new SealedTree(std::move(folder), std::move(key), Purpose::kNewVolume));
}

std::shared_ptr<SealedTree> SealedTree::open(std::shared_ptr<BackingFolder> folder,
                                             std::shared_ptr<const VolumeKey> key, Judge judge) {
  std::shared_ptr<SealedTree> tree(new SealedTree(std::move(folder), std::move(key), Purpose::kVolume));
  tree->judge_ = std::move(judge);
  const MutexLock lock(tree->change_mutex_);
  tree->load_record();
  return tree;
}

std::shared_ptr<SealedTree> SealedTree::scratch(const SealedTree& volume, std::shared_ptr<BackingFolder> folder) {
  return std::shared_ptr<SealedTree>(new SealedTree(std::move(folder), volume.key_, Purpose::kScratch));
}

SealedTree::~SealedTree() {
  if (purpose_ == Purpose::kScratch) return;
  change_mutex_.assert_held();  // nobody else knows the object
  if (!is_changed_) return;
  (void)survive("noting the files of a volume", [&] {
    change_mutex_.assert_held();
    if (const auto noted = note_all_files(); !noted)
      spdlog::error("{}: the list of files for the next mount was not written, which compares as after a crash: {}",
                    folder_->path().string(), noted.error().message());
  });
}

// ---------------------------------------------------------------- open files

Result<void> SealedTree::sync_ends(const std::string& folder_path, BackingFolder& folder, Ends ends) {
  std::set<std::string> paths;
  {
    const MutexLock lock(mutex_);
    for (const std::string& path : undurable_ends_)
      if (parent_of(path) == folder_path) paths.insert(path);
    for (const std::string& path : paths) undurable_ends_.erase(path);  // who closes one now puts it there again
  }
  for (const std::string& path : paths) {
    const auto file = folder.open(name_in(path), Backing::Mode::kReadWrite);
    if (!file && file.error().code() == ErrorCode::kNotFound) continue;  // removed since
    auto synced = !file                     ? Result<void>(file.error())
                  : ends == Ends::kOfOthers ? load(**file, path, nullptr)->renew(**file)
                                            : (*file)->datasync();
    if (synced) continue;
    const MutexLock lock(mutex_);
    undurable_ends_.merge(paths);
    note_failed_sync_of(path);
    return synced;
  }
  return {};
}

std::shared_ptr<SealedContent> SealedTree::load(const BackingFile& file, const std::string& path,
                                                const FileMark* known) const {
  return SealedContent::load(file, key_, place_of(path), session_, known);
}

void SealedTree::note_failed_sync_of(const std::string& path) {
  failed_syncs_.insert(path);
  if (const auto node = open_node_at(path)) node->content->note_failed_sync();
}

Result<void> SealedTree::require_synced() const {
  const MutexLock lock(mutex_);
  if (failed_syncs_.empty()) return {};
  return Error{ErrorCode::kIo, (folder_->path() / *failed_syncs_.begin()).string() + " could not be made durable"};
}

std::shared_ptr<SealedNode> SealedTree::open_node_at(const std::string& path) {
  const auto known = nodes_.find(path);
  return known == nodes_.end() ? nullptr : known->second.lock();
}

std::array<std::set<std::string>*, 3> SealedTree::path_sets() {
  return {&changed_, &undurable_ends_, &failed_syncs_};
}

std::optional<FileMark> SealedTree::mark_of(const std::string& path) {
  const auto known = marks_.find(path);
  return known == marks_.end() ? std::nullopt : std::optional(known->second);
}

bool SealedTree::is_acceptable(const SealedContent& content, const std::string& path) {
  if (evidence_ == Evidence::kNone || !is_noted(path)) return true;
  const auto known = mark_of(path);
  if (content.is(known.value_or(FileMark()))) return true;  // without a mark: made just now
  const bool may_be_new = evidence_ == Evidence::kListAndSession || changed_.contains(path);
  if (!may_be_new) return false;
  if (content.continues(known ? &*known : nullptr, sessions_)) return true;
  // It was moved beside the index by a repair, before the crash. Nothing else comes from another name: otherwise whoever moves the
  // index of before a repair to its old place would be believed.
  if (!path.starts_with(std::string(kIndexDirectory) + '.')) return false;
  return std::ranges::any_of(marks_, [&](const auto& each) {
    mutex_.assert_held();
    return place_of(each.first) == place_of(path) && content.continues(&each.second, sessions_);
  });
}

Result<SealedTree::OpenFile> SealedTree::open(const std::string& path, const Opening& opening) {
  const ReaderLock names(names_mutex_);
  OpenFile opened;
  DEDUPFS_ASSIGN(opened.real, opening());
  DEDUPFS_ASSIGN(opened.node, node_at(path, *opened.real));
  return opened;
}

Result<std::shared_ptr<SealedNode>> SealedTree::node_at(const std::string& path, const BackingFile& file) {
  // Loading may take long, and nobody else waits for it but who opens the same file, more or less.
  const MutexLock loading(load_mutexes_[std::hash<std::string>()(path) % load_mutexes_.size()]);
  std::optional<FileMark> mark;
  {
    const MutexLock lock(mutex_);
    if (auto node = open_node_at(path)) return node;
    mark = mark_of(path);
  }
  auto node = std::make_shared<SealedNode>();
  node->content = load(file, path, mark ? &*mark : nullptr);
  // A disk that fails now may answer later.
  if (const auto damage = node->content->damage(); damage && damage->code() != ErrorCode::kCorruption) return *damage;
  const MutexLock lock(mutex_);
  if (!is_acceptable(*node->content, path))
    node->content->condemn(corruption(file.path().string() +
                                      " is not as the volume was left: an older state of it, or another file, is in "
                                      "its place"));
  if (failed_syncs_.contains(path)) node->content->note_failed_sync();
  node->path = path;
  nodes_[path] = node;
  return node;
}

Result<void> SealedTree::begin_change_of(SealedNode& node) {
  DEDUPFS_TRY(begin_change());
  const MutexLock lock(mutex_);
  ++node.changes;
  if (!node.path.empty()) changed_.insert(node.path);
  return {};
}

void SealedTree::opened_for_writing(SealedNode& node) {
  const MutexLock lock(mutex_);
  ++node.writers;
}

void SealedTree::closed_for_writing(SealedNode& node, BackingFile& file) {
  std::uint64_t changes = 0;
  {
    const MutexLock lock(mutex_);
    if (--node.writers != 0 || node.path.empty()) return;
    changes = node.changes;
    failed_syncs_.insert(node.path);  // until the contrary is known
  }
  const auto mark = node.content->finish(file);
  const bool has_failed_sync = node.content->has_failed_sync();
  const MutexLock lock(mutex_);
  if (node.path.empty()) return;
  if (!has_failed_sync) failed_syncs_.erase(node.path);
  // Who opened and changed it meanwhile notes it.
  if (!mark || node.changes != changes || purpose_ == Purpose::kScratch) return;
  marks_.insert_or_assign(node.path, *mark);
  changed_.erase(node.path);
  undurable_ends_.insert(node.path);
}

Result<void> SealedTree::rename(const std::string& from, const std::string& to, const NameChange& change) {
  const WriterLock names(names_mutex_);
  DEDUPFS_TRY(change());
  const MutexLock lock(mutex_);
  forget(to);
  const auto new_path = [&](const std::string& path) { return to + path.substr(from.size()); };
  const auto is_moved = [&](const std::string& path) { return path == from || path.starts_with(from + '/'); };
  // The paths with one prefix are neighbours, but "index" and "index/CURRENT" have "index.old" between them.
  std::map<std::string, std::weak_ptr<SealedNode>> nodes;
  for (auto& [path, known] : nodes_) {
    const auto node = known.lock();
    if (!node) continue;
    if (is_moved(path)) node->path = new_path(path);
    nodes.emplace(is_moved(path) ? new_path(path) : path, node);
  }
  nodes_ = std::move(nodes);
  FileMarks marks;
  for (const auto& [path, mark] : marks_) marks.emplace(is_moved(path) ? new_path(path) : path, mark);
  marks_ = std::move(marks);
  for (std::set<std::string>* const paths : path_sets()) {
    std::set<std::string> moved;
    for (const std::string& path : *paths) moved.insert(is_moved(path) ? new_path(path) : path);
    *paths = std::move(moved);
  }
  return {};
}

Result<void> SealedTree::link(const std::string& from, const std::string& to, const NameChange& change) {
  const WriterLock names(names_mutex_);
  DEDUPFS_TRY(change());
  const MutexLock lock(mutex_);
  if (const auto mark = mark_of(from)) marks_.insert_or_assign(to, *mark);
  for (std::set<std::string>* const paths : path_sets())
    if (paths->contains(from)) paths->insert(to);
  return {};
}

Result<void> SealedTree::remove(const std::string& path, const NameChange& change) {
  const WriterLock names(names_mutex_);
  DEDUPFS_TRY(change());
  const MutexLock lock(mutex_);
  forget(path);
  return {};
}

void SealedTree::forget(const std::string& path) {
  if (const auto known = nodes_.find(path); known != nodes_.end()) {
    if (const auto node = known->second.lock()) node->path.clear();
    nodes_.erase(known);
  }
  marks_.erase(path);
  for (std::set<std::string>* const paths : path_sets()) paths->erase(path);
}

void SealedTree::keep_lock(std::shared_ptr<BackingFile> lock) {
  const MutexLock guard(mutex_);
  lock_ = std::move(lock);
}

}  // namespace dedupfs
