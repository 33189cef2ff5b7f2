// The values that records have, each once, in the order in which they first come.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

namespace dedupfs::bench {

template <class Item, class Get>
auto distinct(const std::vector<Item>& items, Get get) {
  std::vector<std::decay_t<decltype(get(items[0]))>> values;
  for (const Item& item : items)
    if (auto value = get(item); std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
  return values;
}

}  // namespace dedupfs::bench
