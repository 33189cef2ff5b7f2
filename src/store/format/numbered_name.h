// Names of a volume's files. Those that have a number: ten digits, and the kind of the file. Sorting by name sorts by number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dedupfs {

std::string numbered_name(std::uint32_t number, std::string_view suffix);
// Nothing for any other spelling of the number.
std::optional<std::uint32_t> parse_numbered_name(std::string_view name, std::string_view suffix);
// Letters, digits, '.', '-' and '_', at most 200, and no '.' first: as all names are that dedupfs and RocksDB make.
bool is_plain_name(std::string_view name);

}  // namespace dedupfs
