// Bytes that should be text, such as names of files, for terminals and JSON.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>

namespace dedupfs {

bool is_utf8(std::string_view bytes);

// One line that is safe on a terminal and says which bytes there are: control characters, bytes that are not UTF-8, and backslashes
// are escaped as ls -b and git do: \n, \\, \303.
std::string printable(std::string_view bytes);

// One line without them: each is a question mark. For names of processes, and for protocols whose lines they would break.
std::string without_control_characters(std::string_view text);

}  // namespace dedupfs
