// The commands of the control socket of a mounted volume. See control_socket.h for the transport, and
// docs/control-protocol.md for the commands.
//
// Ownership: refers to them for as long as the handlers are used.
#pragma once

#include <memory>

#include "mount/control/control_socket.h"
#include "mount/daemon/transfer_jobs.h"
#include "mount/fuse/fuse_mount.h"
#include "mount/options/mount_request.h"
#include "replica/background/background_shipper.h"

namespace dedupfs {

// `shipper` is null for a volume that is not shipped.
ControlServer::Handlers control_handlers(
    FuseMount& mount, const MountRequest& request, BackgroundShipper* shipper,
    const std::shared_ptr<RunningTransfers>& transfers = std::make_shared<RunningTransfers>());

}  // namespace dedupfs
