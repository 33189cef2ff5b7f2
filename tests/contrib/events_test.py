"""The example programs for dedupfs-events do what they say, with values that a shell would misread. Prints PASS or FAIL for each check."""
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "contrib/events"
MESSAGE = "2 damaged chunks; $(touch /tmp/bad) `id` \"quoted\" 'single' ~!command"
FAILURES = []


def check(name, passed, detail=""):
    print(f"PASS {name}" if passed else f"FAIL {name}: {detail}", flush=True)
    if not passed:
        FAILURES.append(name)


def run(example, folder, event, **more):
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "DEDUPFS_EVENT": "damage_found", "DEDUPFS_VOLUME": "/srv/volume",
                   "DEDUPFS_MOUNTPOINT": "/backup", "DEDUPFS_MESSAGE": MESSAGE, "DEDUPFS_TIME": "2026-01-01T00:00:00Z", **more}
    return subprocess.run([EXAMPLES / example], env=environment, input=event, capture_output=True, text=True, timeout=30)


def program(folder, name, script):
    path = pathlib.Path(folder, name)
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)


def check_mail(folder):
    program(folder, "mail", f'printf "%s\\n" "$@" >{folder}/arguments\ncat >{folder}/body\n')
    done = run("mail", folder, "{}")
    check("mail succeeds", done.returncode == 0, done.stderr)
    arguments = pathlib.Path(folder, "arguments").read_text().splitlines()
    check("the mail goes to root", arguments[-1] == "root", arguments)
    check("the subject has the event", arguments[1].endswith(": damage_found"), arguments)
    body = pathlib.Path(folder, "body").read_text()
    check("the mail has the message as it is", MESSAGE in body, body)
    check("no line of it is a command to mail(1)", all(line.startswith(" ") for line in body.splitlines()), body)
    os.remove(f"{folder}/mail")


class Hook(http.server.BaseHTTPRequestHandler):
    received = []
    answer = 200

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Hook.received.append((self.path, self.headers["Content-Type"], body.decode()))
        self.send_response(Hook.answer)
        self.end_headers()

    def log_message(self, *_):
        pass


def check_webhook(folder):
    if not shutil.which("curl"):
        print("SKIP web hook: curl is not installed")
        return
    server = http.server.HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = pathlib.Path(folder, "webhook.conf")
    config.write_text(f'url = "http://127.0.0.1:{server.server_port}/hook?key=secret"\nnoproxy = "*"\n')
    event = json.dumps({"event": "damage_found", "message": MESSAGE})
    done = run("webhook", folder, event, WEBHOOK_CONFIG=str(config))
    check("the web hook succeeds", done.returncode == 0, done.stderr)
    check("it gets the event as it is", Hook.received == [("/hook?key=secret", "application/json", event)], Hook.received)
    Hook.answer = 500
    check("a refusal is a failure", run("webhook", folder, event, WEBHOOK_CONFIG=str(config)).returncode != 0)
    server.shutdown()


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_mail(folder)
        check_webhook(folder)
    return 1 if FAILURES else 0


sys.exit(main())
