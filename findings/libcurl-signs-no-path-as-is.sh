#!/usr/bin/env bash
# libcurl 8.16.0 sends no request that it is to sign (CURLOPT_AWS_SIGV4) and whose path it is to leave as it is (CURLOPT_PATH_AS_IS): each ends with
# CURLE_BAD_FUNCTION_ARGUMENT. libcurl 8.12.1 signs and sends it. So does that of Debian 12 (7.88), and that of Debian 13 (8.14) does not. Both options
# are taken without an error: only the transfer fails.
# Seen, with the libraries that come with pycurl: "8.12.1: 200 200" and "8.16.0: 200 43 Cannot use sigv4 authentication with path-as-is flag".
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$work/program.py" <<'CODE'
import http.server
import threading
import pycurl


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()


def get(as_is):
    handle = pycurl.Curl()
    handle.setopt(pycurl.URL, f"http://127.0.0.1:{server.server_port}/bucket/object")
    handle.setopt(pycurl.AWS_SIGV4, "aws:amz:us-east-1:s3")
    handle.setopt(pycurl.USERPWD, "id:secret")
    handle.setopt(pycurl.PATH_AS_IS, as_is)
    try:
        handle.perform()
        return handle.getinfo(pycurl.RESPONSE_CODE)
    except pycurl.error as error:
        return " ".join(map(str, error.args))


print(pycurl.version_info()[1].removesuffix("-DEV") + ":", get(0), get(1))
CODE

expect "pycurl 7.45.6" "8.12.1: 200 200" "$(with_pycurl 7.45.6)"
expect "pycurl 7.45.7" "8.16.0: 200 43 Cannot use sigv4 authentication with path-as-is flag" "$(with_pycurl 7.45.7)"
