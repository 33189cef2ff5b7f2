#include "mount/fuse/request_meters.h"

#include <new>
#include <utility>

namespace dedupfs {
namespace {

thread_local const CurrentRequest* current_request = nullptr;

static_assert(RequestMeters::kNames.size() == static_cast<std::size_t>(RequestKind::kCopyFileRange) + 1);

}  // namespace

std::vector<Named<RequestMeter::Reading>> RequestMeters::readings() const {
  std::vector<Named<RequestMeter::Reading>> readings;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (const RequestMeter::Reading reading = meters_[i].read(); reading.count != 0)
      readings.push_back({kNames[i], reading});
  return readings;
}

std::shared_ptr<MeteredRequest> MeteredRequest::begin(RequestMeters& meters, RequestKind kind) noexcept {
  try {
    return std::make_shared<MeteredRequest>(meters, kind);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

MeteredRequest::MeteredRequest(RequestMeters& meters, RequestKind kind) : meters_(meters), kind_(kind) {
  meters_.running_.fetch_add(1, std::memory_order_relaxed);
}

MeteredRequest::~MeteredRequest() {
  meters_.running_.fetch_sub(1, std::memory_order_relaxed);
  meters_.meters_[static_cast<std::size_t>(kind_)].add(MeterClock::now() - began_, bytes_, is_error_);
}

void MeteredRequest::note_error(ErrorCode code) noexcept {
  if (code != ErrorCode::kNotFound && code != ErrorCode::kNoData) is_error_ = true;
}

CurrentRequest::CurrentRequest(std::shared_ptr<MeteredRequest> request) noexcept
    : request_(std::move(request)), before_(std::exchange(current_request, this)) {}

CurrentRequest::~CurrentRequest() {
  current_request = before_;
}

std::shared_ptr<MeteredRequest> CurrentRequest::get() noexcept {
  return current_request != nullptr ? current_request->request_ : nullptr;
}

}  // namespace dedupfs
