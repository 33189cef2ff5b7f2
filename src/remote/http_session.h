// Requests by HTTP/1.1 and HTTPS, through libcurl. Connections are kept and used again. HTTP/2 would have nothing to share, since a connection
// has one request at a time. Proxies are those of the environment (http_proxy, https_proxy, no_proxy). Redirections are not followed: what is
// signed for one host is not for another. Certificates of servers are verified.
//
// What a server sends is bounded: its headers, the text of its answer, and the time in which nothing comes.
//
// Threads:   request() from any thread; each has a connection of its own for the time. `go_on` and HttpRequest::body are called on that thread.
// Failure:   kIo if there is no answer, or none in time: the same request may succeed later. Each other code is final: kAccessDenied for a
//            certificate that is not trusted, kInvalidArgument for an address that is none, kCorruption for an answer without bounds, or what
//            `go_on` or `body` failed with.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/go_on.h"
#include "base/mutex.h"
#include "base/result.h"
#include "remote/secret_text.h"

namespace dedupfs {

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  // Signed for this region of S3 with these keys, if there are any (AWS Signature Version 4).
  struct Signature {
    std::string region;
    std::string access_key;
    SecretText secret_key;
  };
  const Signature* signature = nullptr;
  // What is sent.
  std::uint64_t body_bytes = 0;
  std::function<Result<void>(std::uint64_t offset, MutableByteSpan out)> body;
  // The body of a successful answer goes there, as far as it fits, and elsewhere nothing of it. None: HttpAnswer::text takes it.
  MutableByteSpan into;
  std::size_t most_text_bytes = std::size_t{2} << 20;  // of HttpAnswer::text; a longer one is an Error
  // A service of this machine, at an address that elsewhere is another host: no proxy sees the request, and it answers soon or not at all.
  bool is_to_this_machine = false;
};

struct HttpAnswer {
  long status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string text;
  std::size_t received = 0;  // bytes in HttpRequest::into

  bool is_success() const { return status >= 200 && status < 300; }
  // "" if there is none.
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

class HttpSession {
 public:
  struct Settings {
    std::string ca_file;                        // certificates to trust; empty: those of the system
    std::uint64_t bytes_per_second = 0;         // of all bodies together, in each direction; 0: no limit
    std::chrono::seconds connect_patience{10};  // until there is a connection
    std::chrono::seconds stall_patience{30};    // with less than a KiB a second; with a limit, than a byte a second
  };

  HttpSession(Settings settings, GoOn go_on);
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;
  ~HttpSession();

  Result<HttpAnswer> request(const HttpRequest& request);

 private:
  class Connection;
  class Pace;
  struct Transfer;
  std::unique_ptr<Connection> take_connection();
  void give_back(std::unique_ptr<Connection> connection);

  const Settings settings_;
  const GoOn go_on_;
  const std::unique_ptr<Pace> sending_;
  const std::unique_ptr<Pace> receiving_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
