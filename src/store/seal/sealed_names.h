// The names of a volume's files; and of an encrypted one, which files are sealed, what their names on the disk are, and what goes into
// their keys.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>

namespace dedupfs {

inline constexpr std::string_view kVolumeRecordFile = "unmounted";
inline constexpr std::string_view kVolumeRecordCopyFile = "unmounted.copy";

// The name on the disk of a file in the volume's own folder; and the reverse, empty for what is hidden there.
std::string name_on_disk(std::string_view name);
std::string name_in_volume(std::string_view name_on_disk);
// Not sealed: nothing in it is of the volume's content.
bool is_clear(std::string_view name);

// Whether a file, by its path on the disk, is the volume's own. What people leave beside these is read by nobody, and is not copied along.
bool is_volume_file(std::string_view path);

// The parts of a path. "" is the volume's own folder.
std::string parent_of(std::string_view path);
std::string_view name_in(std::string_view path);

// What goes into the keys of a file, so that no other file can stand in its place. A file keeps it when it is renamed, as far as
// dedupfs and RocksDB rename files.
std::string place_of(std::string_view path);

// Whether the record of the volume lists a file of the volume's own folder, by its name on the disk, or files of a folder; and
// whether it lists the file at a path.
bool is_noted_in_root(std::string_view name_on_disk);
bool is_noted_folder(std::string_view name);
bool is_noted(std::string_view path);
// The file of an index that a repair has put aside, or was making. A person may remove it: no volume is read from it.
bool is_of_former_index(std::string_view path);

}  // namespace dedupfs
