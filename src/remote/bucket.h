// A place for objects: what an object store has below one prefix of a bucket. An object has a name and bytes. It is written once, and
// nobody changes it afterwards.
//
// Threads: every function from any thread.
// Failure: kIo if the store does not answer, or not in time: the message says what was tried and for how long. A call that failed may have
//          been done all the same, or may be done later. kIo, too, if the bucket itself is gone. kAccessDenied if the store refuses the
//          credentials. kNotFound for an object that is not there. kInvalidArgument for a name that check_object_name() refuses. kCorruption
//          if bytes differ from their checksum. What a caller gets back from its own GoOn or ObjectSource.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "hash/sha256.h"
#include "remote/bucket_requests.h"

namespace dedupfs {

// What becomes an object. Its bytes are read more than once if the store has to be asked again.
struct ObjectSource {
  std::uint64_t size = 0;
  Sha256Digest sha256{};
  std::function<Result<void>(std::uint64_t offset, MutableByteSpan out)> read;
};

// The bytes must outlive it.
ObjectSource object_of(ByteSpan bytes);

class Bucket {
 public:
  enum class Put {
    kMade,
    kSame,   // an object of that name with just these bytes is there: an earlier try did it, whose answer was lost
    kOther,  // and one with other bytes
  };
  struct Object {
    std::string name;
    std::uint64_t size = 0;
    std::chrono::system_clock::time_point modified;
  };

  virtual ~Bucket() = default;

  virtual const std::string& name() const = 0;  // for messages: s3://bucket/prefix

  // Requests are counted there. Called before the first one.
  virtual void count_in(std::shared_ptr<BucketRequestMeter> meter) = 0;

  // Makes an object that does not exist yet. Of several who make the same one at once, one gets kMade.
  virtual Result<Put> put_new(const std::string& object, const ObjectSource& source) = 0;
  // Fills `out` from `offset`. Fewer bytes than out.size() mean the end of the object. An object that is read as a whole is compared with
  // the checksum that it was put with. Of a part, the caller has to know whether it is right.
  virtual Result<std::size_t> read(const std::string& object, std::uint64_t offset, MutableByteSpan out) = 0;
  // All objects whose names begin with `prefix` and come after `after`, in the order of their names.
  virtual Result<void> list(const std::string& prefix, const std::string& after,
                            const std::function<Result<void>(const Object&)>& visit) = 0;
  // No error if it is not there.
  virtual Result<void> remove(const std::string& object) = 0;
};

// Parts that are separated by single slashes. None is empty, "." or "..". They are plain UTF-8 without control characters and
// backslashes, of at most 900 bytes, so that a prefix fits in front. kInvalidArgument for other names.
Result<void> check_object_name(std::string_view object);

// An object that fits into memory. One of more than `limit` bytes is kCorruption.
Result<ByteBuffer> read_object(Bucket& bucket, const std::string& object, std::uint64_t limit);

// Finds out whether the store keeps the promise of put_new(). kUnsupported if it overwrites: two machines that write to one volume would not
// notice each other.
Result<void> probe(Bucket& bucket);

}  // namespace dedupfs
