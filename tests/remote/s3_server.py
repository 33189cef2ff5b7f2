#!/usr/bin/python3
"""A small S3 server for tests. Objects live in memory, or in a folder. It checks signatures (AWS Signature Version 4) and digests of bodies, and knows ranges,
If-None-Match, and listings in pages. It is the metadata service of a machine, too.

Usage: s3_server.py [--address ADDRESS] [--port PORT] [--port-file FILE] [--with-parent] [--tls FOLDER] [--folder FOLDER] [--settings JSON]
  --address ADDRESS  listens there (127.0.0.1)
  --port PORT        and at this port, not at any that is free
  --folder FOLDER    objects lie there, and outlive the server, also one that is killed: an object is there as a whole, or not at all
  --port-file FILE   writes its port there when it listens; otherwise prints it
  --with-parent      ends when standard input ends
  --tls FOLDER       HTTPS, with a certificate for 127.0.0.1 that it makes there (certificate.pem)
  --settings JSON    what is not named is as in DEFAULTS below

PUT /-/settings, with JSON as its body, begins anew: no objects, no counts. PUT /-/faults, with a list of faults, puts them in the place of those
that there were, and PUT /-/retain, with seconds, changes how long objects are retained. GET /-/counts answers the number of requests of each method as JSON,
GET /-/got the names of the objects that were read. They need no signature. The keys are "access" and "secret"; the region is us-east-1; the bucket is
"bucket".
"""
import argparse
import base64
import datetime
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

ACCESS, SECRET, REGION, BUCKET = "access", "secret", "us-east-1", "bucket"
DEFAULTS = {
    # METHOD:NUMBER:KIND, for the request of that number (from 1) of the method, or "*" for each. KIND: a status, with a code after it if there
    # is to be one (503, 403=ExpiredToken), or
    #   drop (closes without an answer), lose (does it, and closes without an answer), cut (half of the body), flip (a bit of the body),
    #   part (of another place than was asked for), short (a byte less than was asked for), whole (no ranges), endless (a body without end),
    #   headers (without end), stall (a byte of the body, and nothing more), silent (not even that), redirect (to /-/trap),
    #   later (503 with Retry-After), page (a web page that says 404), claims=204 (does nothing, and answers that), says=204 (does it, and answers that)
    "faults": [],
    "delay_ms": 0,               # before each answer, as if the store were far away
    "page": 1000,                # of a listing
    "plus_tokens": False,        # a listing goes on with tokens that have a '+', and none is taken
    "empty_pages": 0,            # a listing begins with so many
    "ignore_conditions": False,
    "drop_metadata": False,      # forgets x-amz-meta-*
    "object_lock": False,        # takes no object without x-amz-checksum-sha256
    "retain_seconds": 0,         # deletes no object that is younger, as a store that retains what it gets
    "fill": 0,                   # so many objects are there: fill/00000, ...
    "marker": "",                # an empty object of this key is there
    "expires_in": 3600,          # of the metadata service's keys; 0: it does not answer; negative: nonsense
}


def is_canonical(path, query):
    """Whether this is what the signature is of: parts of the query sorted, NAME=VALUE, and all encoded but what is never encoded."""
    parts = query.split("&") if query else []
    encoded = r"(?:[A-Za-z0-9\-._~]|%[0-9A-F]{2})*"
    unneeded = re.search("%(?:2D|2E|5F|7E|3[0-9]|4[1-9A-F]|5[0-9A]|6[1-9A-F]|7[0-9A])", path + query)
    return (parts == sorted(parts) and not unneeded and bool(re.fullmatch(f"(?:{encoded}/)*{encoded}", path))
            and all(re.fullmatch(f"{encoded}={encoded}", part) for part in parts))


def signature(secret, date, region, to_sign):
    key = b"AWS4" + secret.encode()
    for part in (date, region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()


class Refusal(Exception):
    def __init__(self, status, code, message=""):
        super().__init__(code)
        self.status, self.code, self.message = status, code, message


class Store:
    def __init__(self, settings):
        unknown = settings.keys() - DEFAULTS.keys()
        if unknown:
            raise Refusal(400, "UnknownSetting", str(unknown))
        self.lock = threading.Lock()
        self.settings = {**DEFAULTS, **settings}
        self.counts, self.got, self.faults, self.token = {}, [], [], ""
        self.objects = {f"fill/{number:05}": (b"x", {}, time.time()) for number in range(self.settings["fill"])}
        if self.settings["marker"]:
            self.objects[self.settings["marker"]] = (b"", {}, time.time())
        self.set_faults(self.settings["faults"])

    def set_faults(self, rules):
        split = [rule.split(":") for rule in rules]
        self.faults = [(method, None if number == "*" else int(number), kind) for method, number, kind in split]

    def put(self, key, body, metadata, is_new_only):
        """False: it is there, and was to be new."""
        with self.lock:
            if is_new_only and key in self.objects:
                return False
            self.objects[key] = (body, metadata, time.time())
        return True

    def remove(self, key):
        with self.lock:
            self.objects.pop(key, None)

    def count(self, what):
        with self.lock:
            number = self.counts[what] = self.counts.get(what, 0) + 1
        return number

    def fault_of(self, method):
        number = self.count(method)
        return next((kind for of, when, kind in self.faults if of == method and when in (None, number)), None)


class FolderStore(Store):
    """An object is a file. Its first line is its metadata."""

    def __init__(self, folder, settings):
        super().__init__(settings)
        self.folder = folder
        for path in folder.iterdir():
            if path.suffix == ".new":
                path.unlink()
                continue
            metadata, _, body = path.read_bytes().partition(b"\n")
            self.objects[urllib.parse.unquote(path.name)] = (body, json.loads(metadata), path.stat().st_mtime)

    def path_of(self, key):
        return self.folder / urllib.parse.quote(key, safe="")

    def put(self, key, body, metadata, is_new_only):
        with self.lock:
            if is_new_only and key in self.objects:
                return False
            path = self.path_of(key)
            temporary = path.with_name(path.name + ".new")
            temporary.write_bytes(json.dumps(metadata).encode() + b"\n" + body)
            temporary.rename(path)
            self.objects[key] = (body, metadata, path.stat().st_mtime)
        return True

    def remove(self, key):
        with self.lock:
            self.path_of(key).unlink(missing_ok=True)
            self.objects.pop(key, None)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    store = None

    def log_message(self, format, *args):
        pass

    # ---------------------------------------------------------------- requests

    def handle_request(self):
        self.store = Handler.store  # what is done late, for a client that went away, is done to the objects of then
        length = int(self.headers.get("Content-Length", 0))
        self.body = self.rfile.read(length)
        self.path_part, _, self.query_part = self.path.partition("?")
        if self.path_part.startswith("/-/"):
            return self.control(self.path_part.removeprefix("/-/"))
        if self.path_part.startswith("/latest/"):
            return self.metadata_service(self.path_part.removeprefix("/latest/"))
        time.sleep(self.store.settings["delay_ms"] / 1000)
        fault = self.store.fault_of(self.command)
        try:
            if fault and fault[0].isdigit():
                status, _, code = fault.partition("=")
                raise Refusal(int(status), code or "Fault")
            if self.breaks_off(fault):
                return None
            self.check_signature()
            status, body, headers = getattr(self, "do_" + self.command.lower())(fault)
        except Refusal as refusal:
            status, headers = refusal.status, {"Content-Type": "application/xml"}
            body = f"<Error><Code>{refusal.code}</Code><Message>{escape(refusal.message)}</Message></Error>".encode()
        if fault == "lose":
            self.close_connection = True
            return None
        if fault and fault.startswith("says="):
            return self.answer(int(fault.removeprefix("says=")), b"")
        if fault == "flip" and body:
            body = bytes([body[0] ^ 1]) + body[1:]
        return self.answer(status, body, headers, cut=fault == "cut", stall=fault == "stall")

    do_GET = do_PUT = do_DELETE = do_HEAD = do_POST = handle_request

    def answer(self, status, body, headers=None, cut=False, stall=False):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if stall:
            self.wfile.write(body[:1])
            self.wait_for_client()
        elif self.command != "HEAD":
            self.wfile.write(body[:len(body) // 2] if cut else body)
        if cut:
            self.close_connection = True

    def wait_for_client(self):
        """Until it goes away."""
        self.wfile.flush()
        self.rfile.read(1)
        self.close_connection = True

    def breaks_off(self, fault):
        """Answers what no store should, if that is the fault."""
        if fault == "drop":
            self.close_connection = True
        elif fault == "silent":
            self.wait_for_client()
        elif fault == "redirect":
            self.answer(307, b"", {"Location": f"http://{self.headers['Host']}/-/trap"})
        elif fault == "later":
            self.answer(503, b"", {"Retry-After": "1"})
        elif fault == "page":
            self.answer(404, b"<html><body>Not here</body></html>", {"Content-Type": "text/html"})
        elif fault and fault.startswith("claims="):
            self.answer(int(fault.removeprefix("claims=")), b"")
        elif fault in ("endless", "headers"):
            self.close_connection = True
            self.wfile.write(b"HTTP/1.1 200 OK\r\n" + (b"\r\n" if fault == "endless" else b""))
            try:
                while True:
                    self.wfile.write(b"x-more: " + b"x" * 1000 + b"\r\n")
            except OSError:  # the client has enough
                self.store.count("ended")
        else:
            return False
        return True

    def control(self, what):
        if what == "settings":
            try:
                self.store = Handler.store = Store(json.loads(self.body))
            except Refusal as refusal:
                return self.answer(400, refusal.message.encode())
        elif what == "faults":
            self.store.set_faults(json.loads(self.body))
        elif what == "retain":
            self.store.settings["retain_seconds"] = json.loads(self.body)
        elif what == "trap":
            self.store.count("trap")
        elif what == "got":
            return self.answer(200, json.dumps(self.store.got).encode())
        return self.answer(200, json.dumps({**self.store.counts, "token": self.store.token}).encode())

    def metadata_service(self, what):
        left = self.store.settings["expires_in"]
        if left == 0:
            return self.answer(404, b"")
        if what == "api/token" and self.command == "PUT":
            return self.answer(200, b"of the session")
        if self.headers.get("X-aws-ec2-metadata-token") != "of the session":
            return self.answer(401, b"")
        if what == "meta-data/iam/security-credentials/":
            return self.answer(200, b"worker\nanother")
        if what != "meta-data/iam/security-credentials/worker":
            return self.answer(404, b"")
        number = self.store.count("keys")
        if left < 0:
            return self.answer(200, b"[" * 5000)
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=left)
        return self.answer(200, json.dumps({"AccessKeyId": ACCESS, "SecretAccessKey": SECRET, "Token": f"token-{number}",
                                            "Expiration": f"{end:%Y-%m-%dT%H:%M:%SZ}"}).encode())

    # ---------------------------------------------------------------- signatures

    def check_signature(self):
        fields = {}
        scheme, _, rest = self.headers.get("Authorization", "").partition(" ")
        if scheme != "AWS4-HMAC-SHA256":
            raise Refusal(403, "AccessDenied", "no signature")
        for part in rest.split(","):
            name, _, value = part.strip().partition("=")
            fields[name] = value
        access, date, region, service, _ = fields["Credential"].split("/")
        if access != ACCESS:
            raise Refusal(403, "InvalidAccessKeyId", "unknown key")
        if region != REGION or service != "s3":
            raise Refusal(400, "AuthorizationHeaderMalformed", f"expecting {REGION}")
        signed = fields["SignedHeaders"].split(";")
        for name in self.headers:
            if name.lower().startswith("x-amz-") and name.lower() not in signed:
                raise Refusal(403, "AccessDenied", f"{name} is not signed")
        digest = self.headers.get("x-amz-content-sha256", "")
        if not digest:
            raise Refusal(400, "InvalidRequest", "Missing required header for this request: x-amz-content-sha256")
        # Newer libraries put a request into this form before they sign it. Older ones, such as libcurl 7.88, sign it as it is.
        if not is_canonical(self.path_part, self.query_part):
            raise Refusal(403, "SignatureDoesNotMatch", "The request is not sorted and encoded as it has to be signed")
        query = "&".join(sorted(part if "=" in part else part + "=" for part in self.query_part.split("&") if part))
        # As with Ceph, a header that was signed and not sent is no part of what is compared.
        headers = "".join(f"{name}:{' '.join(self.headers[name].split())}\n" for name in signed if name in self.headers)
        canonical = "\n".join([self.command, self.path_part, query, headers, ";".join(signed), digest])
        moment = self.headers["x-amz-date"]
        scope = f"{date}/{region}/s3/aws4_request"
        to_sign = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        if not hmac.compare_digest(signature(SECRET, date, region, to_sign), fields["Signature"]):
            raise Refusal(403, "SignatureDoesNotMatch", "The request signature we calculated does not match")
        sent = datetime.datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        if abs((datetime.datetime.now(datetime.timezone.utc) - sent).total_seconds()) > 900:
            raise Refusal(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.")
        if digest != hashlib.sha256(self.body).hexdigest():
            raise Refusal(400, "XAmzContentSHA256Mismatch", "The body is not what was signed")
        self.store.token = self.headers.get("x-amz-security-token", "")

    # ---------------------------------------------------------------- what is asked

    def key(self):
        parts = urllib.parse.unquote(self.path_part).lstrip("/").split("/", 1)
        if parts[0] != BUCKET:
            raise Refusal(404, "NoSuchBucket", "The specified bucket does not exist")
        return parts[1] if len(parts) > 1 else ""

    def found(self):
        key = self.key()
        with self.store.lock:
            if key not in self.store.objects:
                raise Refusal(404, "NoSuchKey", "The specified key does not exist.")
            return self.store.objects[key]

    def do_put(self, _fault):
        key = self.key()
        if not key:
            raise Refusal(409, "BucketAlreadyOwnedByYou")
        checksum = self.headers.get("x-amz-checksum-sha256", "")
        if not checksum and self.store.settings["object_lock"]:
            raise Refusal(400, "InvalidRequest", "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock "
                                                 "parameters")
        if checksum and checksum != base64.b64encode(hashlib.sha256(self.body).digest()).decode():
            raise Refusal(400, "BadDigest", "The x-amz-checksum-sha256 you specified did not match what we received")
        metadata = {name.lower(): value for name, value in self.headers.items() if name.lower().startswith("x-amz-meta-")}
        if self.store.settings["drop_metadata"]:
            metadata = {}
        is_new_only = self.headers.get("If-None-Match") == "*" and not self.store.settings["ignore_conditions"]
        if not self.store.put(key, self.body, metadata, is_new_only):
            raise Refusal(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
        return 200, b"", {}

    def do_head(self, _fault):
        body, metadata, _ = self.found()
        return 200, body, metadata

    def do_get(self, fault):
        if not self.key():
            return self.list_objects()
        body, metadata, _ = self.found()
        with self.store.lock:
            self.store.got.append(self.key())
        asked = self.headers.get("Range", "")
        if not asked or fault == "whole":
            return 200, body, metadata
        first, last = asked.removeprefix("bytes=").split("-")
        first, last = int(first), min(int(last), len(body) - 1)
        if first >= len(body):
            raise Refusal(416, "InvalidRange", "The requested range is not satisfiable")
        if fault == "part":
            first, last = first + 1, last + 1
        if fault == "short":
            last -= 1
        return 206, body[first:last + 1], {**metadata, "Content-Range": f"bytes {first}-{last}/{len(body)}"}

    def do_delete(self, _fault):
        with self.store.lock:
            _, _, modified = self.store.objects.get(self.key(), (b"", {}, 0))
        if time.time() < modified + self.store.settings["retain_seconds"]:
            raise Refusal(403, "AccessDenied", "Access Denied because object protected by object lock.")
        self.store.remove(self.key())
        return 204, b"", {}

    def list_objects(self):
        query = dict(urllib.parse.parse_qsl(self.query_part))
        if query.get("continuation-token", "").startswith("+"):
            raise Refusal(403, "SignatureDoesNotMatch", "as if libcurl 8.14 had signed it")
        after = query.get("continuation-token", query.get("start-after", ""))
        if after.isdigit() or not after:  # the number of an empty page
            number = int(after or 0)
            if number < self.store.settings["empty_pages"]:
                return 200, (f"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>{number + 1}</NextContinuationToken>"
                             "</ListBucketResult>").encode(), {}
            after = ""
        with self.store.lock:
            keys = sorted(key for key in self.store.objects if key.startswith(query.get("prefix", "")) and key > after)
            page = keys[:min(int(query.get("max-keys", 1000)), self.store.settings["page"])]
            contents = "".join(
                f"<Contents><Key>{escape(key)}</Key><Size>{len(self.store.objects[key][0])}</Size>"
                f"<LastModified>{datetime.datetime.fromtimestamp(self.store.objects[key][2], datetime.timezone.utc):%Y-%m-%dT%H:%M:%S.000Z}"
                "</LastModified></Contents>" for key in page)
        more = len(page) < len(keys)
        plus = "+" if self.store.settings["plus_tokens"] else ""
        token = f"<NextContinuationToken>{plus}{escape(page[-1])}</NextContinuationToken>" if more else ""
        return 200, (f'<?xml version="1.0"?><ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>'
                     f"{token}{contents}</ListBucketResult>").encode(), {"Content-Type": "application/xml"}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # a client that went away
            super().handle_error(request, client_address)


def certificate(folder):
    """Makes one for 127.0.0.1, and its key."""
    folder.mkdir(exist_ok=True)
    key, made = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(made)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    return context


def end_with_parent():
    sys.stdin.buffer.read()
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file")
    parser.add_argument("--with-parent", action="store_true")
    parser.add_argument("--tls", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--settings", type=json.loads, default={})
    arguments = parser.parse_args()
    Handler.store = FolderStore(arguments.folder, arguments.settings) if arguments.folder else Store(arguments.settings)
    server = Server((arguments.address, arguments.port), Handler)
    if arguments.tls:
        server.socket = certificate(arguments.tls).wrap_socket(server.socket, server_side=True)
    if arguments.with_parent:
        threading.Thread(target=end_with_parent, daemon=True).start()
    port = str(server.server_address[1])
    if arguments.port_file:
        temporary = pathlib.Path(arguments.port_file + ".new")
        temporary.write_text(port, encoding="utf-8")
        temporary.rename(arguments.port_file)
    else:
        print(port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
