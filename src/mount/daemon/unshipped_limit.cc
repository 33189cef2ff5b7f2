#include "mount/daemon/unshipped_limit.h"

namespace dedupfs {

void limit_unshipped(Filesystem& filesystem, BackgroundShipper& shipper, std::size_t most_waiting,
                     std::chrono::milliseconds longest_wait) {
  const auto look = [&shipper] {
    const BackgroundShipper::Room room = shipper.room();
    return DataLimit::Seen{.room_bytes = room.bytes, .is_making_room = room.is_making_more};
  };
  filesystem.limit_writes({.look = look,
                           .want_room = [&shipper] { shipper.want_room(); },
                           .when_waiting = [&shipper](bool begins) { shipper.note_waiting(begins); },
                           .refuse = [&shipper] { return shipper.refuse(); },
                           .longest_wait = longest_wait,
                           .most_waiting = most_waiting});
}

}  // namespace dedupfs
