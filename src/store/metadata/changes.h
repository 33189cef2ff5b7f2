// Changes that lie over stored entries: of the open transaction group over the database, of the database over a snapshot.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "index/database.h"

namespace dedupfs {

// The new value of a key; none: the key is not there any more.
struct KeyChange {
  std::string key;
  std::optional<std::string> value;
};

// The changes in a range of keys.
struct ChangePage {
  std::vector<KeyChange> changes;
  std::optional<std::string> behind;  // the changes of this key and later ones did not fit
};

// Merges `stored` and `changes`, and appends up to `limit` entries to `found`. If there is `behind`, both count only for keys
// before it.
void merge(std::vector<KeyValue> stored, std::vector<KeyChange> changes, const std::optional<std::string>& behind,
           std::size_t limit, std::vector<KeyValue>& found);

}  // namespace dedupfs
