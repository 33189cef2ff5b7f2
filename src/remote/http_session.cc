#include "remote/http_session.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/rate_limit.h"
#include "remote/pause.h"
#include "remote/text.h"

namespace dedupfs {
namespace {

constexpr std::size_t kIdleConnections = 32;
constexpr long kSlowBytesPerSecond = 1024;
constexpr std::size_t kMostHeaderBytes = 64 << 10;
constexpr std::chrono::seconds kPatienceWithThisMachine{2};
constexpr long kPatienceWithExpect = 300;  // ms, with a server that leaves the question unanswered

struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListDeleter>;

// Once for the process, and before there are threads that could do the same.
void prepare_library() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

ErrorCode code_of(CURLcode code) {
  switch (code) {
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_UNKNOWN_OPTION:
    case CURLE_NOT_BUILT_IN:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return ErrorCode::kInvalidArgument;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR: return ErrorCode::kAccessDenied;
    case CURLE_OUT_OF_MEMORY: return ErrorCode::kNoMemory;
    default: return ErrorCode::kIo;
  }
}

std::string_view remedy_of(CURLcode code) {
  if (code == CURLE_PEER_FAILED_VERIFICATION)
    return ". If the store has a certificate of your own authority, give the file of that one";
  if (code == CURLE_SSL_CACERT_BADFILE) return ". Correct the name of the file of certificates";
  return "";
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

HeaderList header_list(const HttpRequest& request) {
  HeaderList list;
  for (const std::string& header : request.headers) {
    curl_slist* const longer = curl_slist_append(list.get(), header.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    (void)list.release();
    list.reset(longer);
  }
  return list;
}

}  // namespace

// What all requests of a session send, or receive, together.
class HttpSession::Pace {
 public:
  explicit Pace(std::uint64_t bytes_per_second) { limit_.set(bytes_per_second, 0); }

  // Until when whoever moved so many bytes waits. Nothing: it goes on. A pause earns nothing.
  std::optional<RateLimit::Clock::time_point> moved(std::size_t bytes) {
    const MutexLock lock(mutex_);
    done_ += bytes;
    const auto until = limit_.wait_until(done_);
    if (!until) limit_.begin_again(done_);
    return until;
  }

 private:
  Mutex mutex_;
  RateLimit limit_ DEDUPFS_GUARDED_BY(mutex_);
  std::uint64_t done_ DEDUPFS_GUARDED_BY(mutex_) = 0;
};

// A request that is under way, for the functions that libcurl calls. An Error in one of them ends it. None throws into libcurl.
struct HttpSession::Transfer {
  CURL* handle = nullptr;
  const HttpRequest* request = nullptr;
  HttpSession* session = nullptr;
  HttpAnswer answer = {};
  std::uint64_t sent = 0;
  std::size_t header_bytes = 0;
  std::optional<Error> error = std::nullopt;

  // Of a function for libcurl, which takes `refusal` for failure.
  template <class T, class Deed>
  static T guarded(void* pointer, T refusal, const Deed& deed) {
    Transfer& self = *static_cast<Transfer*>(pointer);
    try {
      if (const Result<T> done = deed(self))
        return *done;
      else
        self.error = done.error();
    } catch (const std::bad_alloc&) {
      self.error = Error{ErrorCode::kNoMemory, "a request: out of memory"};
    } catch (const std::exception& thrown) {
      self.error = Error{ErrorCode::kIo, thrown.what()};
    }
    return refusal;
  }
  Result<void> go_on() const { return session->go_on_ ? session->go_on_() : Result<void>(); }
  Result<void> keep_pace(Pace& pace, std::size_t bytes) const {
    if (session->settings_.bytes_per_second == 0) return {};
    const auto until = pace.moved(bytes);
    return until ? pause_until(*until, session->go_on_) : Result<void>();
  }

  static std::size_t send(char* buffer, std::size_t size, std::size_t count, void* pointer) {
    return guarded<std::size_t>(pointer, CURL_READFUNC_ABORT, [&](Transfer& self) -> Result<std::size_t> {
      const std::size_t bytes = std::min<std::uint64_t>(size * count, self.request->body_bytes - self.sent);
      if (bytes == 0) return 0;
      DEDUPFS_TRY(self.request->body(self.sent, {reinterpret_cast<std::uint8_t*>(buffer), bytes}));
      self.sent += bytes;
      DEDUPFS_TRY(self.keep_pace(*self.session->sending_, bytes));
      return bytes;
    });
  }
  // libcurl begins again on a connection that the server had closed.
  static int seek(void* pointer, curl_off_t offset, int origin) {
    Transfer& self = *static_cast<Transfer*>(pointer);
    if (origin != SEEK_SET || offset < 0 || static_cast<std::uint64_t>(offset) > self.request->body_bytes)
      return CURL_SEEKFUNC_FAIL;
    self.sent = static_cast<std::uint64_t>(offset);
    return CURL_SEEKFUNC_OK;
  }
  static std::size_t receive(char* bytes, std::size_t size, std::size_t count, void* pointer) {
    return guarded<std::size_t>(pointer, CURL_WRITEFUNC_ERROR, [&](Transfer& self) {
      return self.take({bytes, size * count});
    });
  }
  Result<std::size_t> take(std::string_view bytes) {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    const MutableByteSpan into = request->into;
    if (into.data() != nullptr && status >= 200 && status < 300) {
      const std::size_t fits = std::min(bytes.size(), into.size() - answer.received);
      if (fits != 0) std::memcpy(into.data() + answer.received, bytes.data(), fits);
      answer.received += fits;
      if (fits != bytes.size()) return std::size_t{CURL_WRITEFUNC_ERROR};  // nobody wants the rest
    } else {
      if (bytes.size() > request->most_text_bytes - answer.text.size())
        return corruption(fmt::format("{}: an answer of more than {} bytes", request->url, request->most_text_bytes));
      answer.text.append(bytes);
    }
    DEDUPFS_TRY(keep_pace(*session->receiving_, bytes.size()));
    return bytes.size();
  }
  static std::size_t take_header(char* bytes, std::size_t size, std::size_t count, void* pointer) {
    return guarded<std::size_t>(pointer, 0, [&](Transfer& self) -> Result<std::size_t> {
      const std::string_view line(bytes, size * count);
      self.header_bytes += line.size();
      if (self.header_bytes > kMostHeaderBytes)
        return corruption(
            fmt::format("{}: an answer with more than {} bytes of headers", self.request->url, kMostHeaderBytes));
      if (line.starts_with("HTTP/")) self.answer.headers.clear();  // of an answer such as "100 Continue"
      const std::size_t colon = line.find(':');
      if (colon != std::string_view::npos)
        self.answer.headers.insert_or_assign(lower_case(trimmed(line.substr(0, colon))),
                                             std::string(trimmed(line.substr(colon + 1))));
      return line.size();
    });
  }
  // About once a second, and more often while bytes flow.
  static int look(void* pointer, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return guarded(pointer, 1, [](Transfer& self) -> Result<int> {
      DEDUPFS_TRY(self.go_on());
      return 0;
    });
  }
};

class HttpSession::Connection {
 public:
  Connection() : handle_(curl_easy_init()) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { curl_easy_cleanup(handle_); }

  Result<HttpAnswer> request(const HttpRequest& request, HttpSession& session) {
    if (handle_ == nullptr) return Error{ErrorCode::kNoMemory, "a connection: out of memory"};
    Transfer transfer{.handle = handle_, .request = &request, .session = &session};
    std::array<char, CURL_ERROR_SIZE> why{};
    const HeaderList headers = header_list(request);
    // At the end the handle forgets what points to the above, and keys. It keeps its connections.
    const std::unique_ptr<CURL, decltype(&curl_easy_reset)> forgetting(handle_, &curl_easy_reset);

    refused_option_ = CURLE_OK;
    set(CURLOPT_ERRORBUFFER, why.data());
    set_manners(session.settings_);
    set_patience(request, session.settings_);
    set_request(request);
    set(CURLOPT_HTTPHEADER, headers.get());
    set_functions(transfer);
    if (refused_option_ != CURLE_OK)
      return Error{ErrorCode::kUnsupported,
                   fmt::format("libcurl {} lacks what requests to a store need: {}",
                               curl_version_info(CURLVERSION_NOW)->version, curl_easy_strerror(refused_option_))};

    const CURLcode code = curl_easy_perform(handle_);
    curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &transfer.answer.status);
    if (transfer.error) return *transfer.error;
    const bool is_cut_by_us =
        code == CURLE_WRITE_ERROR && request.into.data() != nullptr && transfer.answer.received == request.into.size();
    if (code != CURLE_OK && !is_cut_by_us) {
      const char* const reason = why[0] != '\0' ? why.data() : curl_easy_strerror(code);
      return Error{code_of(code),
                   fmt::format("{} {}: {}{}", request.method, request.url, printable(reason), remedy_of(code))};
    }
    return std::move(transfer.answer);
  }

 private:
  template <class T>
  void set(CURLoption option, T value) {
    if (const CURLcode code = curl_easy_setopt(handle_, option, value); code != CURLE_OK) refused_option_ = code;
  }
  // Not CURLOPT_PATH_AS_IS: libcurl 8.14 signs nothing with it. No name of an object has a part "." or "..", which libcurl takes away.
  void set_manners(const Settings& settings) {
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TCP_NODELAY, 1L);
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    if (settings.ca_file.empty()) return;
    set(CURLOPT_CAINFO, settings.ca_file.c_str());
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // instead of those of the system, not beside them
  }
  void set_patience(const HttpRequest& request, const Settings& settings) {
    const std::chrono::seconds most =
        request.is_to_this_machine ? kPatienceWithThisMachine : std::chrono::seconds::max();
    set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(std::min(settings.connect_patience, most).count()));
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(std::min(settings.stall_patience, most).count()));
    set(CURLOPT_LOW_SPEED_LIMIT, settings.bytes_per_second == 0 ? kSlowBytesPerSecond : 1L);
  }
  void set_request(const HttpRequest& request) {
    set(CURLOPT_URL, request.url.c_str());
    if (request.is_to_this_machine) set(CURLOPT_PROXY, "");
    if (request.method == "PUT") {
      // CURLOPT_UPLOAD would ask with "Expect: 100-continue" ahead of each body; a POST does so from 1 MiB on, where it is worth it. Switched
      // off by a header "Expect:", it would be signed, and Ceph takes no signature of a header that is not sent.
      set(CURLOPT_POST, 1L);
      set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body_bytes));
      set(CURLOPT_EXPECT_100_TIMEOUT_MS, kPatienceWithExpect);
    } else if (request.method == "HEAD") {
      set(CURLOPT_NOBODY, 1L);
    } else if (request.method != "GET") {
      set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    }
    if (request.signature == nullptr) return;
    set(CURLOPT_AWS_SIGV4, fmt::format("aws:amz:{}:s3", request.signature->region).c_str());
    set(CURLOPT_USERNAME, request.signature->access_key.c_str());
    set(CURLOPT_PASSWORD, request.signature->secret_key.text().c_str());
  }
  void set_functions(Transfer& transfer) {
    set(CURLOPT_READFUNCTION, &Transfer::send);
    set(CURLOPT_READDATA, &transfer);
    set(CURLOPT_SEEKFUNCTION, &Transfer::seek);
    set(CURLOPT_SEEKDATA, &transfer);
    set(CURLOPT_WRITEFUNCTION, &Transfer::receive);
    set(CURLOPT_WRITEDATA, &transfer);
    set(CURLOPT_HEADERFUNCTION, &Transfer::take_header);
    set(CURLOPT_HEADERDATA, &transfer);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &Transfer::look);
    set(CURLOPT_XFERINFODATA, &transfer);
  }

  CURL* const handle_;
  CURLcode refused_option_ = CURLE_OK;
};

HttpSession::HttpSession(Settings settings, GoOn go_on)
    : settings_(std::move(settings)),
      go_on_(std::move(go_on)),
      sending_(std::make_unique<Pace>(settings_.bytes_per_second)),
      receiving_(std::make_unique<Pace>(settings_.bytes_per_second)) {
  prepare_library();
}
HttpSession::~HttpSession() = default;

std::unique_ptr<HttpSession::Connection> HttpSession::take_connection() {
  {
    const MutexLock lock(mutex_);
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  return std::make_unique<Connection>();
}

void HttpSession::give_back(std::unique_ptr<Connection> connection) {
  const MutexLock lock(mutex_);
  if (idle_.size() < kIdleConnections) idle_.push_back(std::move(connection));
}

Result<HttpAnswer> HttpSession::request(const HttpRequest& request) {
  auto connection = take_connection();
  auto answer = connection->request(request, *this);
  give_back(std::move(connection));
  return answer;
}

}  // namespace dedupfs
