#!/usr/bin/env python3
"""A store that speaks as much S3 as dedupfs and restic ask for, takes little CPU time, and counts. Objects live in memory. It checks neither
signatures nor digests, so that it is not what is measured: tests/remote/s3_server.py does that.

Usage: store.py PORT-FILE [--delay MILLISECONDS] [--bandwidth BYTES] [--log FILE]
  --delay      before each answer, and once more for each new connection, as if the store were far away
  --bandwidth  in a second, for all connections together, each way
  --log        a line for each request: when it was read and answered, in seconds since the last reset, its kind, name, range, bytes in and out

It ends when standard input ends. The bucket is "bucket". These are no objects:
  GET /-/counts     requests by kind (LIST: a GET of names), bytes of bodies received and sent, the CPU time of this process
  GET /-/got        names and sizes of the objects that were read, each once
  GET /-/reset      counts from 0 again
"""
import argparse
import email.utils
import http.server
import json
import os
import pathlib
import sys
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

BUCKET = "bucket"
PART = 256 << 10  # what a link takes at a time


class Refusal(Exception):
    def __init__(self, status, code):
        super().__init__(code)
        self.status, self.code = status, code


class Link:
    """One way of the line to the store. All connections share it."""

    def __init__(self, bandwidth):
        self.bandwidth, self.lock, self.free = bandwidth, threading.Lock(), 0.0

    def take(self, size):
        """Returns when so many bytes have passed."""
        if not self.bandwidth:
            return
        with self.lock:
            self.free = max(self.free, time.monotonic()) + size / self.bandwidth
            until = self.free
        time.sleep(max(0.0, until - time.monotonic()))


class Store:
    def __init__(self, delay, bandwidth, log):
        self.delay, self.log = delay, log
        self.up, self.down = Link(bandwidth), Link(bandwidth)
        self.lock = threading.Lock()
        self.objects = {}  # name: (body, headers that come back with it)
        self.reset()

    def reset(self):
        self.requests, self.received, self.sent, self.got, self.cpu_before = {}, 0, 0, {}, time.process_time()
        self.begin = time.monotonic()
        if self.log:
            print("reset", file=self.log, flush=True)

    def count(self, kind, received, sent):
        with self.lock:
            self.requests[kind] = self.requests.get(kind, 0) + 1
            self.received += received
            self.sent += sent

    def counts(self):
        with self.lock:
            return {"requests": self.requests, "received": self.received, "sent": self.sent, "cpu_seconds": time.process_time() - self.cpu_before}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    store = None

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        time.sleep(self.store.delay)

    # ---------------------------------------------------------------- requests

    def read_exactly(self, size):
        """The next bytes of the body."""
        parts = []
        while size:
            part = self.rfile.read(min(size, PART) if self.store.up.bandwidth else size)
            if not part:
                raise ConnectionError
            self.store.up.take(len(part))
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def read_body(self):
        if not self.headers.get("x-amz-content-sha256", "").startswith("STREAMING-"):
            return self.read_exactly(int(self.headers.get("Content-Length", 0)))
        parts = []  # signed one by one: "SIZE;chunk-signature=...", the bytes, an empty line at the end of each
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self.read_exactly(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def handle_request(self):
        path, _, query = self.path.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if path.startswith("/-/"):
            return self.control(path.removeprefix("/-/"))
        bucket, _, self.key = urllib.parse.unquote(path).lstrip("/").partition("/")
        begin = time.monotonic()
        self.body = self.read_body()
        time.sleep(self.store.delay)
        try:
            if bucket != BUCKET:
                raise Refusal(404, "NoSuchBucket")
            status, body, headers = getattr(self, ("object_" if self.key else "bucket_") + self.command.lower())()
        except Refusal as refusal:
            status, headers = refusal.status, {"Content-Type": "application/xml"}
            body = f"<Error><Code>{refusal.code}</Code><Message></Message></Error>".encode()
        kind = "LIST" if self.command == "GET" and not self.key else self.command
        sent = 0 if self.command == "HEAD" else len(body)
        self.store.count(kind, len(self.body), sent)
        self.answer(status, body, headers)
        if self.store.log:
            times = f"{begin - self.store.begin:.3f} {time.monotonic() - self.store.begin:.3f}"
            print(times, kind, status, self.key or query, self.headers.get("Range", "-"), len(self.body), sent, file=self.store.log, flush=True)

    do_GET = do_PUT = do_DELETE = do_HEAD = do_POST = handle_request

    def control(self, what):
        if what == "reset":
            self.store.reset()
        answer = self.store.got if what == "got" else self.store.counts()
        return self.answer(200, json.dumps(answer).encode(), {})

    def answer(self, status, body, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        body = memoryview(body)
        for at in range(0, len(body), PART if self.store.down.bandwidth else len(body) or 1):
            part = body[at:at + PART] if self.store.down.bandwidth else body
            self.store.down.take(len(part))
            self.wfile.write(part)

    # ---------------------------------------------------------------- what is asked of the bucket

    def bucket_head(self):
        return 200, b"", {}

    def bucket_get(self):
        xml = {"Content-Type": "application/xml"}
        if "location" in self.query:
            return 200, b'<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>', xml
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter", "")
        after = self.query.get("continuation-token") or self.query.get("start-after") or self.query.get("marker") or ""
        with self.store.lock:
            names = sorted(name for name in self.store.objects if name.startswith(prefix))
            sizes = {name: len(self.store.objects[name][0]) for name in names}
            moments = {name: self.store.objects[name][1]["x-moment"] for name in names}
        entries = []  # (name, is a folder)
        for name in names:
            below, found, _ = name.removeprefix(prefix).partition(delimiter) if delimiter else (name, "", "")
            entry = (prefix + below + delimiter, True) if found else (name, False)
            if entry[0] > after and entry not in entries[-1:]:
                entries.append(entry)
        page = entries[:int(self.query.get("max-keys", 1000))]
        more = len(page) < len(entries)
        text = "".join(
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" if is_folder else
            f'<Contents><Key>{escape(name)}</Key><Size>{sizes[name]}</Size><ETag>"0"</ETag><LastModified>{moments[name]}</LastModified></Contents>'
            for name, is_folder in page)
        last = escape(page[-1][0]) if more else ""
        token = f"<NextContinuationToken>{last}</NextContinuationToken><NextMarker>{last}</NextMarker>" if more else ""
        return 200, (f'<?xml version="1.0"?><ListBucketResult><Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount>'
                     f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{text}</ListBucketResult>").encode(), xml

    def bucket_put(self):
        raise Refusal(409, "BucketAlreadyOwnedByYou")

    # ---------------------------------------------------------------- what is asked of objects

    def found(self):
        with self.store.lock:
            if self.key not in self.store.objects:
                raise Refusal(404, "NoSuchKey")
            body, headers = self.store.objects[self.key]
        return body, {name: value for name, value in headers.items() if name != "x-moment"}

    def object_put(self):
        if {"uploadId", "partNumber"} & self.query.keys() or "x-amz-copy-source" in self.headers:
            raise Refusal(501, "NotImplemented")
        headers = {name.lower(): value for name, value in self.headers.items() if name.lower().startswith("x-amz-meta-")}
        headers |= {"ETag": '"0"', "Last-Modified": email.utils.formatdate(usegmt=True),
                    "x-moment": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())}
        with self.store.lock:
            if self.headers.get("If-None-Match") == "*" and self.key in self.store.objects:
                raise Refusal(412, "PreconditionFailed")
            self.store.objects[self.key] = (self.body, headers)
        return 200, b"", {"ETag": '"0"'}

    def object_post(self):
        raise Refusal(501, "NotImplemented")

    def object_head(self):
        body, headers = self.found()
        return 200, body, headers

    def object_get(self):
        body, headers = self.found()
        with self.store.lock:
            self.store.got[self.key] = len(body)
        if "Range" not in self.headers:
            return 200, body, headers
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        first, last = int(first), min(int(last or len(body)), len(body) - 1)
        if first >= len(body):
            raise Refusal(416, "InvalidRange")
        return 206, memoryview(body)[first:last + 1], {**headers, "Content-Range": f"bytes {first}-{last}/{len(body)}"}

    def object_delete(self):
        with self.store.lock:
            self.store.objects.pop(self.key, None)
        return 204, b"", {}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # a client that went away
            super().handle_error(request, client_address)


def end_with_parent():
    sys.stdin.buffer.read()
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port_file", type=pathlib.Path)
    parser.add_argument("--delay", type=float, default=0)
    parser.add_argument("--bandwidth", type=float, default=0)
    parser.add_argument("--log", type=argparse.FileType("a"))
    args = parser.parse_args()
    Handler.store = Store(args.delay / 1000, args.bandwidth, args.log)
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=end_with_parent, daemon=True).start()
    ready = args.port_file.with_suffix(".new")
    ready.write_text(str(server.server_address[1]), encoding="utf-8")
    ready.rename(args.port_file)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
