#!/usr/bin/env bash
# libcurl 8.16.0 signs (CURLOPT_AWS_SIGV4) a query with a '+' that is encoded, as a store wants it (%2B), with another signature than the rules of Amazon
# give: a store refuses the request. A space, '/', '=', '&', '%' and letters beyond ASCII are signed right. 8.12.1 and 8.19.0 sign all of them right. So
# what a store says of a listing that goes on (a continuation token, which is Base64 at many stores) cannot be sent back with that version.
# Seen, with the libraries that come with pycurl, where the server makes the signature itself: "8.12.1: all right", "8.16.0: a%2Bb is refused",
# "8.19.0: all right".
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$work/program.py" <<'CODE'
import hashlib
import hmac
import http.server
import re
import threading
import pycurl


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


# What the rules of Amazon's Signature Version 4 give for this request. The query has one parameter, encoded as they want it.
def signature_of(request):
    path, _, query = request.path.partition("?")
    scope, names = re.search(r"Credential=id/([^,]+), *SignedHeaders=([^,]+)", request.headers["Authorization"]).groups()
    headers = "".join(f"{name}:{request.headers[name].strip()}\n" for name in names.split(";"))
    content = request.headers.get("x-amz-content-sha256") or hashlib.sha256(b"").hexdigest()
    canonical = "\n".join([request.command, path, query, headers, names, content])
    text = "\n".join(["AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = b"AWS4secret"
    for part in scope.split("/"):
        key = sign(key, part)
    return sign(key, text).hex()


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        signed = re.search(r"Signature=([0-9a-f]+)", self.headers["Authorization"])[1]
        self.send_response(200 if signed == signature_of(self) else 403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()


def get(query):
    handle = pycurl.Curl()
    handle.setopt(pycurl.URL, f"http://127.0.0.1:{server.server_port}/bucket?{query}")
    handle.setopt(pycurl.AWS_SIGV4, "aws:amz:us-east-1:s3")
    handle.setopt(pycurl.USERPWD, "id:secret")
    handle.perform()
    return handle.getinfo(pycurl.RESPONSE_CODE)


VALUES = ("ab", "a%2Fb", "a%3Db", "a%20b", "a%2Bb", "a%26b", "a%25b", "a%C3%A4")
refused = [f"{value} is refused" for value in VALUES if get(f"prefix={value}") != 200]
print(pycurl.version_info()[1].removesuffix("-DEV") + ":", *refused or ["all right"])
CODE

expect "pycurl 7.45.6" "8.12.1: all right" "$(with_pycurl 7.45.6)"
expect "pycurl 7.45.7" "8.16.0: a%2Bb is refused" "$(with_pycurl 7.45.7)"
expect "pycurl 7.46.0" "8.19.0: all right" "$(with_pycurl 7.46.0)"
