// A participant of a commit: chunks, metadata, snapshots, counters. A commit makes the changes of all participants durable, or none.
//
// A commit has two phases. First, every participant appends the changes of its frozen group to one batch. Then the batch is
// written, or that fails, and every participant is told which. Nothing that anybody can see changes in the first phase, so a
// commit that failed at any step can be tried again.
//
// Threads:   one thread at a time calls these functions. Others may use the participant meanwhile.
// Failure:   only append_to() can fail.
#pragma once

#include "base/result.h"
#include "index/database.h"

namespace dedupfs {

enum class CommitFailure {
  kMayBeRetried,
  kFinal,  // the state of the disk is unknown; no other commit will follow
};

// A later attempt may succeed. After any other failure, the state of the disk is unknown.
inline CommitFailure failure_of(ErrorCode code) {
  const bool again = code == ErrorCode::kNoSpace || code == ErrorCode::kNoMemory || code == ErrorCode::kInterrupted;
  return again ? CommitFailure::kMayBeRetried : CommitFailure::kFinal;
}

class CommitParticipant {
 public:
  virtual ~CommitParticipant() = default;

  // The open group becomes the frozen one, and the next group opens. No operation may be half done, and the last frozen group
  // must be committed.
  virtual void freeze() = 0;
  // Appends the changes of the frozen group; none, if there is no such group. When it returns, everything that they point to is durable.
  // Called again after failed(), it appends the same.
  virtual Result<void> append_to(Database::Batch& batch) = 0;
  // The batch is written, and durable. Readers find the frozen group in the database, so the participant drops it.
  virtual void committed() = 0;
  // The batch is not written, maybe because another participant could not append. The frozen group stays, and is read as before.
  virtual void failed(CommitFailure failure) = 0;
};

}  // namespace dedupfs
