// Text in HTML. Names of files are hostile: they can hold markup, control characters, and characters that turn the text around.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dedupfs::tools {

// For the content of an element and for an attribute in double quotes. Bytes that are no printable UTF-8 are shown as base/printable.h
// does.
std::string html(std::string_view text);

// A name of a file, kept apart from the text around it.
std::string html_name(std::string_view name);

// "12.3 %" of a whole; "0.0 %" of nothing.
std::string percent_text(double part, double whole);

}  // namespace dedupfs::tools
