// The commands of the control socket of a mounted volume. See control_socket.h for the transport, and
// docs/control-protocol.md for the commands.
//
// Ownership: refers to both for as long as the handlers are used.
#pragma once

#include "mount/control/control_socket.h"
#include "mount/fuse/fuse_mount.h"
#include "mount/options/mount_request.h"

namespace dedupfs {

ControlServer::Handlers control_handlers(FuseMount& mount, const MountRequest& request);

}  // namespace dedupfs
