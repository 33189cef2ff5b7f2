// Goes through the entries of a family with from <= key < end (end empty: to the end of the family), in order of key, `page` of
// them at a time. It holds no snapshot: changes of others meanwhile may be seen or not, and `visit` may change entries.
//
// `source` is any type with list(): Database, Metadata, a view of a snapshot.
//
// Failure: the first Error of the source or of `visit` ends it.
// Memory:  a page.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"
#include "index/database.h"

namespace dedupfs {

// Ends when `visit(key, value)` returns false (Result<bool>). Then this returns false, too.
template <class Source, class Visit>
Result<bool> visit_entries_while(const Source& source, Family family, std::string_view from, std::string_view end,
                                 std::size_t page, Visit&& visit) {
  for (std::string next(from);;) {
    DEDUPFS_ASSIGN(const auto entries, source.list(family, next, end, page));
    for (const auto& [key, value] : entries) {
      DEDUPFS_ASSIGN(const bool goes_on, visit(key, value));
      if (!goes_on) return false;
    }
    if (entries.size() < page) return true;
    next = entries.back().first + '\0';
  }
}

// All of them: `visit(key, value)` returns a Result<void>.
template <class Source, class Visit>
Result<void> visit_entries(const Source& source, Family family, std::string_view from, std::string_view end,
                           std::size_t page, Visit&& visit) {
  const auto visited = visit_entries_while(source, family, from, end, page,
                                           [&](const std::string& key, const std::string& value) -> Result<bool> {
                                             DEDUPFS_TRY(visit(key, value));
                                             return true;
                                           });
  DEDUPFS_TRY(visited);
  return {};
}

}  // namespace dedupfs
