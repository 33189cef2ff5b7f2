// The simplest filesystem there can be, to compare the real one with: a tree of objects in memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "fs/format/mode.h"
#include "fs/namespace/filesystem.h"

namespace dedupfs {

struct ModelNode;
using ModelPtr = std::shared_ptr<ModelNode>;

struct ModelNode {
  InodeNumber number = 0;  // as the real one gave it
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t links = 1;
  std::uint64_t device = 0;
  std::string content;  // of a file; the target of a symbolic link
  std::map<std::string, std::string> xattrs;
  std::map<std::string, ModelPtr> entries;
  ModelNode* parent = nullptr;

  bool is_directory() const { return dedupfs::is_directory(mode); }
};

// Each operation gives the error that POSIX asks for, or nothing and the change is made.
class FilesystemModel {
 public:
  using Outcome = std::optional<ErrorCode>;

  FilesystemModel() {
    root_->number = kRootInode;
    root_->mode = S_IFDIR | 0755;
    root_->links = 2;
    root_->parent = root_.get();
  }

  const ModelPtr& root() const { return root_; }

  // Of its own: what happens to one of them does not happen to the other.
  FilesystemModel copy() const {
    FilesystemModel model;
    std::map<const ModelNode*, ModelPtr> copies;
    model.root_ = copy_of(root_, copies);
    model.root_->parent = model.root_.get();
    return model;
  }

  static ModelPtr find(const ModelNode& directory, const std::string& name) {
    const auto found = directory.entries.find(name);
    return found == directory.entries.end() ? nullptr : found->second;
  }

  static Outcome can_add(const ModelNode& directory, const std::string& name) {
    if (directory.links == 0) return ErrorCode::kNotFound;
    if (find(directory, name)) return ErrorCode::kExists;
    return std::nullopt;
  }

  static void add(ModelNode& directory, const std::string& name, const ModelPtr& node) {
    directory.entries[name] = node;
    if (!node->is_directory()) return;
    node->parent = &directory;
    ++directory.links;
  }

  static Outcome link(const ModelPtr& node, ModelNode& directory, const std::string& name) {
    if (node->is_directory()) return ErrorCode::kNotPermitted;
    if (const Outcome error = can_add(directory, name)) return error;
    ++node->links;
    add(directory, name, node);
    return std::nullopt;
  }

  static Outcome unlink(ModelNode& directory, const std::string& name) {
    const ModelPtr node = find(directory, name);
    if (!node) return ErrorCode::kNotFound;
    if (node->is_directory()) return ErrorCode::kIsDirectory;
    drop(directory, name);
    return std::nullopt;
  }

  static Outcome remove_directory(ModelNode& directory, const std::string& name) {
    const ModelPtr node = find(directory, name);
    if (!node) return ErrorCode::kNotFound;
    if (!node->is_directory()) return ErrorCode::kNotDirectory;
    if (!node->entries.empty()) return ErrorCode::kNotEmpty;
    drop(directory, name);
    return std::nullopt;
  }

  static Outcome rename(ModelNode& from, const std::string& old_name, ModelNode& to, const std::string& new_name,
                        Filesystem::RenameMode mode) {
    const ModelPtr node = find(from, old_name);
    const ModelPtr other = find(to, new_name);
    if (!node) return ErrorCode::kNotFound;
    if (other && mode == Filesystem::RenameMode::kNoReplace) return ErrorCode::kExists;
    if (!other && mode == Filesystem::RenameMode::kExchange) return ErrorCode::kNotFound;
    if (node == other) return std::nullopt;
    if (is_inside(to, *node)) return ErrorCode::kInvalidArgument;
    if (mode == Filesystem::RenameMode::kExchange && is_inside(from, *other)) return ErrorCode::kInvalidArgument;
    if (to.links == 0) return ErrorCode::kNotFound;
    if (mode == Filesystem::RenameMode::kExchange) {
      take(from, old_name);
      take(to, new_name);
      add(from, old_name, other);
      add(to, new_name, node);
      return std::nullopt;
    }
    if (other) {
      if (node->is_directory() && !other->is_directory()) return ErrorCode::kNotDirectory;
      if (!node->is_directory() && other->is_directory()) return ErrorCode::kIsDirectory;
      if (!other->entries.empty()) return ErrorCode::kNotEmpty;
      drop(to, new_name);
    }
    take(from, old_name);
    add(to, new_name, node);
    return std::nullopt;
  }

 private:
  static ModelPtr copy_of(const ModelPtr& node, std::map<const ModelNode*, ModelPtr>& copies) {
    ModelPtr& copy = copies[node.get()];
    if (copy) return copy;
    const ModelPtr made = copy = std::make_shared<ModelNode>(*node);
    for (auto& [name, child] : made->entries) {
      child = copy_of(child, copies);
      if (child->is_directory()) child->parent = made.get();
    }
    return made;
  }

  // The name goes, not the node.
  static void take(ModelNode& directory, const std::string& name) {
    const auto found = directory.entries.find(name);
    if (found->second->is_directory()) --directory.links;
    directory.entries.erase(found);
  }

  static void drop(ModelNode& directory, const std::string& name) {
    const ModelPtr node = find(directory, name);
    take(directory, name);
    node->links = node->is_directory() ? 0 : node->links - 1;
  }

  static bool is_inside(const ModelNode& directory, const ModelNode& ancestor) {
    for (const ModelNode* node = &directory;; node = node->parent) {
      if (node == &ancestor) return true;
      if (node->parent == node) return false;
    }
  }

  ModelPtr root_ = std::make_shared<ModelNode>();
};

}  // namespace dedupfs
