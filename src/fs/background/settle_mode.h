// When landed data is settled without being asked (docs/settling.md).
#pragma once

namespace dedupfs {

enum class SettleMode { kIdle, kAlways, kOff };

}  // namespace dedupfs
