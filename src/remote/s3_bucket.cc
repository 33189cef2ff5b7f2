#include "remote/s3_bucket.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <utility>

#include "base/printable.h"
#include "hash/base64.h"
#include "remote/pause.h"
#include "remote/s3_answers.h"
#include "remote/text.h"

namespace dedupfs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestPause{10'000};
constexpr std::string_view kDigestHeader = "x-amz-meta-sha256";
constexpr std::string_view kChecksumHeader = "x-amz-checksum-sha256";
constexpr std::string_view kDigestOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr int kPageOfListing = 1000;
constexpr int kMostEmptyPages = 100;  // one after the other; versioned buckets have some
constexpr int kMostTriesToPut = 3;    // of an object that is there and gone in turn
constexpr std::size_t kComparedBytes = 1 << 20;
constexpr std::size_t kMostHeaderInMessage = 100;

template <std::size_t kCount>
bool is_one_of(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::ranges::find(words, word) != words.end();
}

// Of an answer that another try may not get.
bool is_passing(long status, const S3Error& error) {
  constexpr std::array<long, 7> kPassing = {408, 409, 429, 500, 502, 503, 504};
  return std::ranges::find(kPassing, status) != kPassing.end() || error.code == "RequestTimeout";
}

// Of an answer that other keys may not get.
bool is_about_keys(const S3Error& error) {
  constexpr std::array<std::string_view, 5> kCodes = {"ExpiredToken", "InvalidToken", "TokenRefreshRequired",
                                                      "InvalidAccessKeyId", "SignatureDoesNotMatch"};
  return is_one_of(error.code, kCodes);
}

// A bucket with object lock takes nothing without a checksum of its own kind. Others may refuse a header that they do not know, so it is
// sent only where it is asked for.
bool is_about_checksum(const HttpAnswer& answer) {
  if (answer.status != 400) return false;
  const std::string message = parse_s3_error(answer.text).message;
  return message.find("x-amz-checksum") != std::string::npos || message.find("Content-MD5") != std::string::npos;
}

// A header for a message, without what a hostile server may put there.
std::string header_text(const HttpAnswer& answer, const std::string& name) {
  return printable(std::string_view(answer.header(name)).substr(0, kMostHeaderInMessage));
}

// What a person can do about it.
std::string remedy_of(const S3Error& error, const HttpAnswer& answer) {
  if (error.code == "RequestTimeTooSkewed")
    return fmt::format(
        ": the clock of this machine is wrong (the store says it is {}); set it, for example with timedatectl set-ntp "
        "true",
        header_text(answer, "date"));
  if (error.code == "InvalidAccessKeyId") return ": the store does not know the access key";
  if (error.code == "SignatureDoesNotMatch") return ": the secret key is wrong, or the region";
  if (error.code == "ExpiredToken" || error.code == "InvalidToken")
    return ": the session token is too old; get a new one";
  const bool is_elsewhere = answer.status >= 300 && answer.status < 400;
  if (error.code == "AuthorizationHeaderMalformed" || is_elsewhere) {
    const std::string region = header_text(answer, "x-amz-bucket-region");
    if (!region.empty()) return fmt::format(": the bucket is in the region {}; give that one", region);
    return is_elsewhere ? ": the store sends requests elsewhere, which is not followed; give the endpoint or region of "
                          "the bucket"
                        : ": the region is wrong; give that of the bucket";
  }
  return "";
}

class S3Bucket final : public Bucket {
 public:
  S3Bucket(S3Settings settings, GoOn go_on)
      : settings_(std::move(settings)),
        name_(settings_.location.name()),
        lead_(settings_.location.prefix.empty() ? std::string() : settings_.location.prefix + '/'),
        go_on_(std::move(go_on)),
        session_({.ca_file = settings_.ca_file,
                  .bytes_per_second = settings_.bytes_per_second,
                  .stall_patience = settings_.stall_patience},
                 go_on_),
        credentials_(session_, settings_.credentials_file) {}

  const std::string& name() const override { return name_; }
  void count_in(std::shared_ptr<BucketRequestMeter> meter) override { meter_ = std::move(meter); }

  Result<Put> put_new(const std::string& object, const ObjectSource& source) override {
    DEDUPFS_TRY(check_object_name(object));
    const std::string digest = hex_of(source.sha256);
    for (int tries = 1;; ++tries) {
      HttpRequest put{.method = "PUT",
                      .url = settings_.location.url_of(object),
                      .headers = {"If-None-Match: *", "Content-Type: application/octet-stream",
                                  fmt::format("{}: {}", kDigestHeader, digest)},
                      .body_bytes = source.size,
                      .body = source.read,
                      .into = {}};
      const bool has_checksum = sends_checksum_;
      if (has_checksum) {
        put.headers.push_back(fmt::format("{}: {}", kChecksumHeader, base64_of(source.sha256)));
        put.headers.emplace_back("x-amz-sdk-checksum-algorithm: SHA256");  // some ask for this one instead
      }
      DEDUPFS_ASSIGN(const HttpAnswer answer, ask(BucketRequest::kPut, put, digest, object));
      if (answer.status == 200 || answer.status == 201) return Put::kMade;
      if (!has_checksum && is_about_checksum(answer)) {
        sends_checksum_ = true;
        continue;
      }
      // Any other success says nothing: a proxy, a part of something, nothing at all. Then the store is asked whether it has the object.
      if (answer.status != 412 && !answer.is_success()) return refused(answer, "PUT", object);
      // Somebody else's, or ours, of a try whose answer was lost.
      DEDUPFS_ASSIGN(const HttpAnswer there,
                     ask(BucketRequest::kHead, request_of("HEAD", object), std::string(kDigestOfNothing), object));
      if (there.status == 404 && tries < kMostTriesToPut) continue;  // it was removed meanwhile
      if (there.status == 404 && answer.is_success())
        return Error{ErrorCode::kIo, fmt::format("PUT {}: HTTP status {}, and the object is not there afterwards",
                                                 full_name(object), answer.status)};
      if (!there.is_success()) return refused(there, "HEAD", object);
      const std::string found = there.header(std::string(kDigestHeader));
      if (!found.empty()) return found == digest ? Put::kSame : Put::kOther;
      // Another program copied the bucket, without what it knows of its objects.
      if (parse_s3_number(there.header("content-length")) != source.size) return Put::kOther;
      return compare(object, source);
    }
  }

  Result<std::size_t> read(const std::string& object, std::uint64_t offset, MutableByteSpan out) override {
    DEDUPFS_TRY(check_object_name(object));
    if (out.empty() || offset > UINT64_MAX - out.size()) return 0;
    auto length = read_once(object, offset, out);
    if (!length && length.error().code() == ErrorCode::kCorruption) return read_once(object, offset, out);
    return length;
  }

  Result<void> list(const std::string& prefix, const std::string& after,
                    const std::function<Result<void>(const Object&)>& visit) override {
    std::string continuation;
    std::string begin = after;
    std::string last;
    int empty_pages = 0;
    for (;;) {
      // In the order that the signature wants.
      std::string query;
      if (!continuation.empty()) query = "continuation-token=" + percent_encoded(continuation) + '&';
      query += fmt::format("list-type=2&max-keys={}&prefix={}", kPageOfListing, percent_encoded(lead_ + prefix));
      if (continuation.empty() && !begin.empty()) query += "&start-after=" + percent_encoded(lead_ + begin);
      DEDUPFS_ASSIGN(const HttpAnswer answer,
                     ask(BucketRequest::kList,
                         {.url = settings_.location.bucket_url() + "?" + query, .headers = {}, .body = {}, .into = {}},
                         std::string(kDigestOfNothing), prefix));
      if (!answer.is_success()) return refused(answer, "LIST", prefix);
      auto page = parse_s3_listing(answer.text);
      if (!page) return page.error().with(name_);
      for (Object& object : page->objects) {
        if (!object.name.starts_with(lead_ + prefix))
          return corruption(name_ + ": the listing has objects that were not asked for");
        object.name.erase(0, lead_.size());
        if (object.name.empty()) continue;  // some programs make an object for the "folder"
        // So a listing ends, whatever the store says.
        if (object.name <= last) return corruption(name_ + ": the listing is not in the order of names");
        last = object.name;
        if (object.name > after) DEDUPFS_TRY(visit(object));
      }
      if (!page->has_more) return {};
      empty_pages = page->objects.empty() ? empty_pages + 1 : 0;
      if (empty_pages > kMostEmptyPages)
        return corruption(fmt::format("{}: the listing has {} empty pages", name_, empty_pages));
      continuation = std::move(page->continuation);
      // libcurl 8.14 signs a '+' in a query as something else, also one that is encoded.
      if (last > begin && continuation.find('+') != std::string::npos) {
        begin = last;
        continuation.clear();
      }
    }
  }

  Result<void> remove(const std::string& object) override {
    DEDUPFS_TRY(check_object_name(object));
    DEDUPFS_ASSIGN(const HttpAnswer answer,
                   ask(BucketRequest::kDelete, request_of("DELETE", object), std::string(kDigestOfNothing), object));
    if (answer.is_success()) return {};
    Error error = refused(answer, "DELETE", object);
    if (error.code() == ErrorCode::kNotFound) return {};
    return error;
  }

 private:
  HttpRequest request_of(std::string method, const std::string& object) const {
    return {
        .method = std::move(method), .url = settings_.location.url_of(object), .headers = {}, .body = {}, .into = {}};
  }
  std::string full_name(const std::string& object) const { return object.empty() ? name_ : name_ + '/' + object; }

  Result<std::size_t> read_once(const std::string& object, std::uint64_t offset, MutableByteSpan out) {
    HttpRequest request = request_of("GET", object);
    request.headers = {fmt::format("Range: bytes={}-{}", offset, offset + out.size() - 1)};
    request.into = out;
    DEDUPFS_ASSIGN(const HttpAnswer answer, ask(BucketRequest::kGet, request, std::string(kDigestOfNothing), object));
    if (answer.status == 416) return 0;  // behind the end
    if (!answer.is_success()) return refused(answer, "GET", object);
    std::optional<std::uint64_t> total;
    if (answer.status == 206) {
      const auto range = parse_s3_range(answer.header("content-range"));
      if (!range || range->first != offset)
        return corruption(full_name(object) + ": the store answers another part than that it was asked for");
      if (answer.received != std::min<std::uint64_t>(out.size(), range->total - offset))
        return corruption(fmt::format("{}: the store answers {} bytes of the {} at {}, although the object has {}",
                                      full_name(object), answer.received, out.size(), offset, range->total));
      total = range->total;
    } else {
      if (offset != 0)
        return Error{ErrorCode::kUnsupported, full_name(object) + ": the store answers a part with the whole object"};
      total = parse_s3_number(answer.header("content-length"));
    }
    const std::string digest = answer.header(std::string(kDigestHeader));
    const bool is_whole = offset == 0 && total == answer.received;
    if (is_whole && !digest.empty() && hex_of(sha256_of(out.first(answer.received))) != digest)
      return corruption(full_name(object) + ": its bytes differ from their checksum");
    return answer.received;
  }

  Result<Put> compare(const std::string& object, const ObjectSource& source) {
    ByteBuffer ours(kComparedBytes);
    ByteBuffer theirs(kComparedBytes);
    for (std::uint64_t offset = 0; offset < source.size; offset += kComparedBytes) {
      const std::size_t length = std::min<std::uint64_t>(kComparedBytes, source.size - offset);
      const MutableByteSpan part = MutableByteSpan(ours).first(length);
      DEDUPFS_TRY(source.read(offset, part));
      DEDUPFS_ASSIGN(const std::size_t received, read(object, offset, MutableByteSpan(theirs).first(length)));
      if (received != length || !std::ranges::equal(part, MutableByteSpan(theirs).first(length))) return Put::kOther;
    }
    return Put::kSame;
  }

  // Until there is an answer that no further try would change, or patience ends.
  Result<HttpAnswer> ask(BucketRequest kind, const HttpRequest& request, const std::string& digest,
                         const std::string& object) {
    const Clock::time_point begin = Clock::now();
    std::chrono::milliseconds pause = settings_.first_pause;
    bool has_other_keys = false;
    for (int tries = 1;; ++tries) {
      std::optional<Error> of_source;  // what no further try helps against, whatever its code
      const auto credentials = credentials_.get();
      if (credentials) meter_->note(kind);
      auto answer =
          credentials ? send(request, digest, *credentials, of_source) : Result<HttpAnswer>(credentials.error());
      if (of_source) return *of_source;
      // A store that has begun to answer may find an error afterwards.
      const bool may_have_error = answer && (!answer->is_success() || kind == BucketRequest::kPut);
      const S3Error error = may_have_error ? parse_s3_error(answer->text) : S3Error{};
      const bool is_late_error = answer && answer->is_success() && !error.code.empty();
      if (is_about_keys(error) && !has_other_keys && credentials_.has_others_than(*credentials)) {
        has_other_keys = true;
        continue;
      }
      if (answer ? !is_passing(answer->status, error) && !is_late_error : answer.error().code() != ErrorCode::kIo)
        return answer;
      const auto asked_for = answer ? parse_s3_number(answer->header("retry-after")) : std::nullopt;
      if (asked_for)
        pause =
            std::max(pause, std::chrono::milliseconds(
                                1000 * std::min<std::uint64_t>(*asked_for, kLongestPause / std::chrono::seconds(1))));
      const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
      if (passed + pause > settings_.patience) {
        const std::string why =
            !answer ? answer.error().message()
                    : fmt::format("HTTP status {}{}{}", answer->status, error.code.empty() ? "" : ", ", error.code);
        return Error{ErrorCode::kIo,
                     fmt::format("{} {}: no success after {} tries in {:.1f} s: {}", request.method, full_name(object),
                                 tries, static_cast<double>(passed.count()) / 1000, why)};
      }
      DEDUPFS_TRY(wait(pause));
      pause = std::min(pause * 2, kLongestPause);
    }
  }

  Result<HttpAnswer> send(HttpRequest request, const std::string& digest, const S3Credentials& credentials,
                          std::optional<Error>& of_source) {
    request.headers.push_back("x-amz-content-sha256: " + digest);
    if (!credentials.session_token.empty())
      request.headers.push_back("x-amz-security-token: " + credentials.session_token.text());
    const HttpRequest::Signature signature{.region = settings_.location.region,
                                           .access_key = credentials.access_key,
                                           .secret_key = credentials.secret_key};
    request.signature = &signature;
    if (request.body) {
      request.body = [&of_source, read = std::move(request.body)](std::uint64_t offset, MutableByteSpan out) {
        auto done = read(offset, out);
        if (!done) of_source = done.error();
        return done;
      };
    }
    auto answer = session_.request(request);
    for (std::string& header : request.headers) zero_text(header);
    return answer;
  }

  // Between a half and the whole of it.
  Result<void> wait(std::chrono::milliseconds pause) const {
    std::minstd_rand random(std::random_device{}());
    std::uniform_int_distribution<std::chrono::milliseconds::rep> spread(pause.count() / 2, pause.count());
    return pause_until(Clock::now() + std::chrono::milliseconds(spread(random)), go_on_);
  }

  Error refused(const HttpAnswer& answer, std::string_view deed, const std::string& object) const {
    const S3Error error = parse_s3_error(answer.text);
    const std::string what = full_name(object);
    if (error.code == "NoSuchBucket")
      return {ErrorCode::kIo, fmt::format("{}: there is no bucket {}: make it first, or correct its name", name_,
                                          settings_.location.bucket)};
    // A HEAD has no text. Any other server than a store may answer 404 to anything.
    if (answer.status == 404 && (deed == "HEAD" || !error.code.empty()))
      return {ErrorCode::kNotFound, what + ": no such object"};
    std::string text = fmt::format("{} {}: HTTP status {}", deed, what, answer.status);
    if (!error.code.empty()) text += fmt::format(", {} ({})", error.code, error.message);
    text += remedy_of(error, answer);
    if (answer.status == 404)
      text += fmt::format(": {} does not answer as a store of objects does; correct the endpoint",
                          settings_.location.endpoint);
    constexpr std::array<std::string_view, 3> kDamaged = {"XAmzContentSHA256Mismatch", "BadDigest", "InvalidDigest"};
    if (is_one_of(error.code, kDamaged))
      return {ErrorCode::kCorruption, text + ": the store got other bytes than those that were to be sent"};
    if (is_about_keys(error) || error.code == "AuthorizationHeaderMalformed" || answer.status == 401 ||
        answer.status == 403)
      return {ErrorCode::kAccessDenied, std::move(text)};
    if (answer.status == 507) return {ErrorCode::kNoSpace, text + ": the store is full"};
    return {ErrorCode::kIo, std::move(text)};
  }

  const S3Settings settings_;
  const std::string name_;
  const std::string lead_;  // of the names of objects: the prefix
  const GoOn go_on_;
  std::shared_ptr<BucketRequestMeter> meter_ = std::make_shared<BucketRequestMeter>();
  HttpSession session_;
  S3CredentialSource credentials_;
  std::atomic<bool> sends_checksum_ = false;  // from the first time on that the store asks for it
};

}  // namespace

std::unique_ptr<Bucket> open_s3_bucket(S3Settings settings, GoOn go_on) {
  return std::make_unique<S3Bucket>(std::move(settings), std::move(go_on));
}

}  // namespace dedupfs
