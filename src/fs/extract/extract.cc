#include "fs/extract/extract.h"

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "fs/format/mode.h"
#include "fs/format/records.h"

namespace dedupfs {
namespace {

constexpr std::size_t kDeepestNesting = 2048;  // no path of a program is deeper: PATH_MAX
constexpr std::size_t kNamesAtOnce = 64;

// The paths that are asked for, as a tree: so each is taken once, and the folders above them, too.
struct Asked {
  std::map<std::string, std::unique_ptr<Asked>> below;
  bool is_whole = false;

  Result<void> add(std::string_view path) {
    Asked* at = this;
    while (!path.empty()) {
      const std::string_view name = path.substr(0, path.find('/'));
      path.remove_prefix(std::min(path.size(), name.size() + 1));
      if (name.empty() || name == ".") continue;
      if (!is_valid_name(name)) return invalid_argument("'" + std::string(name) + "' is not the name of a file");
      auto& next = at->below[std::string(name)];
      if (!next) next = std::make_unique<Asked>();
      at = next.get();
    }
    at->is_whole = true;
    return {};
  }
};

// Gives its reference back.
class Found {
 public:
  Found(Filesystem& filesystem, const Attributes& attributes) : filesystem_(filesystem), attributes_(attributes) {}
  ~Found() { filesystem_.forget(attributes_.inode, 1); }
  Found(const Found&) = delete;
  Found& operator=(const Found&) = delete;

 private:
  Filesystem& filesystem_;
  const Attributes attributes_;
};

class Extraction {
 public:
  Extraction(Filesystem& filesystem, ExtractSink& sink, ExtractObserver& observer)
      : filesystem_(filesystem), sink_(sink), observer_(observer) {}

  Result<ExtractTotals> run(const ExtractRequest& request) {
    Asked asked;
    for (const std::string& path : request.paths) DEDUPFS_TRY(asked.add(path));
    asked.is_whole |= request.paths.empty();
    DEDUPFS_ASSIGN(const InodeNumber root, root_of(request.snapshot));
    DEDUPFS_TRY(require(root, "", asked));
    DEDUPFS_TRY(asked.is_whole ? take_names(root, "", 0) : take_asked(root, "", asked, 0));
    return totals_;
  }

 private:
  Result<InodeNumber> root_of(const std::string& snapshot) {
    if (snapshot.empty()) return kRootInode;
    const auto found = filesystem_.lookup(kSnapshotsInode, snapshot);
    if (!found && found.error().code() == ErrorCode::kNotFound)
      return Error{ErrorCode::kNotFound, "there is no snapshot '" + snapshot + "'"};
    if (!found) return found.error();
    return found->inode;  // stays referenced
  }

  // Everything that is asked for is there, or at least has a name.
  Result<void> require(InodeNumber folder, const std::string& path, const Asked& asked) {
    for (const auto& [name, next] : asked.below) {
      const std::string its_path = join(path, name);
      const auto found = filesystem_.lookup(folder, name);
      if (!found && found.error().code() == ErrorCode::kNotFound)
        return Error{ErrorCode::kNotFound, its_path + " is not in the volume"};
      if (!found) continue;  // damage: the walk names it
      const Found reference(filesystem_, *found);
      if (next->below.empty()) continue;
      if (!is_directory(found->mode)) return Error{ErrorCode::kNotDirectory, its_path + " is not a folder"};
      DEDUPFS_TRY(require(found->inode, its_path, *next));
    }
    return {};
  }

  static std::string join(const std::string& path, std::string_view name) {
    return path.empty() ? std::string(name) : path + '/' + std::string(name);
  }

  // An Error: the extraction ends.
  Result<void> take_asked(InodeNumber folder, const std::string& path, const Asked& asked, std::size_t depth) {
    for (const auto& [name, next] : asked.below) DEDUPFS_TRY(take(folder, path, name, next.get(), depth));
    return {};
  }

  Result<void> take_names(InodeNumber folder, const std::string& path, std::size_t depth) {
    std::uint64_t cookie = 0;
    std::vector<std::string> names;
    do {
      names.clear();
      const auto read = filesystem_.read_directory(folder, cookie, false, [&](const DirectoryEntry& entry) {
        cookie = entry.cookie;
        if (entry.name != "." && entry.name != "..") names.push_back(entry.name);
        return names.size() < kNamesAtOnce;
      });
      for (const std::string& name : names) DEDUPFS_TRY(take(folder, path, name, nullptr, depth));
      if (!read) return fail(path, read.error(), /*is_damage=*/true);
    } while (names.size() == kNamesAtOnce);
    return {};
  }

  // `asked` is null below a folder of which everything is asked for.
  Result<void> take(InodeNumber folder, const std::string& path, const std::string& name, const Asked* asked,
                    std::size_t depth) {
    ExtractEntry entry;
    entry.path = join(path, name);
    entry.name = name;
    if (!is_valid_name(name)) return fail(entry.path, corruption("this cannot be a name"), true);
    const auto found = filesystem_.lookup(folder, name);
    if (!found) return fail(entry.path, found.error(), true);
    const Found reference(filesystem_, *found);
    entry.attributes = *found;
    entry.is_asked_for = asked == nullptr || asked->is_whole;
    if (!is_known_type(entry.attributes.mode)) return fail(entry.path, corruption("it is of no known type"), true);
    return is_directory(entry.attributes.mode) ? take_folder(entry, asked, depth) : take_other(entry);
  }

  Result<void> take_folder(const ExtractEntry& folder, const Asked* asked, std::size_t depth) {
    if (depth == kDeepestNesting) return fail(folder.path, Error{ErrorCode::kNameTooLong, "nested too deeply"}, false);
    const InodeNumber inode = folder.attributes.inode;
    if (!entered_.insert(inode).second) return fail(folder.path, corruption("this folder has two names"), true);
    EntrySource source(filesystem_, folder.attributes, watcher_);
    if (const auto begun = sink_.begin_folder(folder, source); !begun) return fail(folder.path, begun.error(), source);
    DEDUPFS_TRY(folder.is_asked_for ? take_names(inode, folder.path, depth + 1)
                                    : take_asked(inode, folder.path, *asked, depth + 1));
    return settle(folder, sink_.end_folder(folder, source), source);
  }

  Result<void> take_other(const ExtractEntry& entry) {
    EntrySource source(filesystem_, entry.attributes, watcher_);
    if (entry.attributes.links < 2) return settle(entry, sink_.put(entry, source), source);
    const auto first = first_names_.find(entry.attributes.inode);
    if (first != first_names_.end()) {
      const auto linked = sink_.put_link(entry, first->second);
      return settle(entry, linked ? Result<Taken>(Taken()) : linked.error(), source);
    }
    const auto taken = sink_.put(entry, source);
    if (taken) first_names_.emplace(entry.attributes.inode, entry.path);
    return settle(entry, taken, source);
  }

  Result<void> settle(const ExtractEntry& entry, const Result<Taken>& taken, const EntrySource& source) {
    if (!taken) return fail(entry.path, taken.error(), source);
    ++totals_.entries;
    if (taken->was_there) ++totals_.already_there;
    if (!taken->lacks.empty())
      DEDUPFS_TRY(fail(entry.path, Error{ErrorCode::kUnsupported, "it is there without " + taken->lacks}, source));
    if (!observer_.goes_on(totals_)) return Error{ErrorCode::kInterrupted, "stopped"};
    return {};
  }

  Result<void> fail(const std::string& path, const Error& error, const EntrySource& source) {
    return fail(path, error, source.failure().has_value());
  }
  Result<void> fail(const std::string& path, const Error& error, bool is_damage) {
    if (error.code() == ErrorCode::kInterrupted || sink_.is_broken()) return error;
    ++(is_damage ? totals_.damaged : totals_.refused);
    observer_.note_failure(path.empty() ? "/" : path, error);
    return {};
  }

  Filesystem& filesystem_;
  ExtractSink& sink_;
  ExtractObserver& observer_;
  ExtractTotals totals_;
  const EntrySource::Watcher watcher_ = [this](std::uint64_t bytes) {
    totals_.bytes += bytes;
    return observer_.goes_on(totals_);
  };
  std::unordered_set<InodeNumber> entered_;
  std::unordered_map<InodeNumber, std::string> first_names_;
};

}  // namespace

Result<ExtractTotals> extract(Filesystem& filesystem, const ExtractRequest& request, ExtractSink& sink,
                              ExtractObserver& observer) {
  return Extraction(filesystem, sink, observer).run(request);
}

}  // namespace dedupfs
