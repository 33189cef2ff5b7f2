// Asks the daemon of a mount through the mount, as everybody may who can see it (mount/fuse/public_answers.h).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/backing.h"
#include "base/result.h"
#include "mount/system/mount_table.h"
#include "mount/system/patience.h"

namespace dedupfs {

struct PublicAnswer {
  MountEntry mount;     // that was asked; its user is the one who answered
  nlohmann::json json;  // without control characters
};

// `path` lies in the mount, and the caller may read its directory or file. The kernel carries the question to the daemon of that very
// mount, and names the user of that daemon: nobody else can answer. The mount of an ordinary user says what that user likes.
//
// Failure: kInvalidArgument if the path is in no mount of dedupfs; kAccessDenied if the caller is not let in; kUnsupported for a daemon
//          of an older version; kBusy if the caller asks too much at once; kIo for an answer that is no JSON; kInterrupted if
//          there is none in time.
Result<PublicAnswer> ask_publicly(const Path& path, const std::string& question, const Patience& patience = {});

// The same for who was refused at the control socket (kAccessDenied), or found none (kNotFound). Any other refusal is the result, and so
// is the lack of a socket where the mount does not answer either.
Result<PublicAnswer> ask_publicly_instead(const Error& refusal, const Path& path, const std::string& question);

// "user 1000 made this mount and answers for it". Nothing for a mount whose user is to be believed.
std::optional<std::string> doubt_about(const MountEntry& mount);

}  // namespace dedupfs
