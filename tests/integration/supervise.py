"""A service manager for one daemon, as systemd is for Type=notify with Restart=on-failure and a watchdog.

Usage: supervise.py LOG WATCHDOG_SECONDS COMMAND...

Starts the command, writes each message of sd_notify to LOG as a line ("READY=1|STATUS=..."), ends the daemon when it was silent
for longer than the watchdog allows, and starts it again half a second after a failure. Ends when the command succeeds, or has
failed five times. SIGTERM is passed on.
"""
import os
import select
import signal
import socket
import subprocess
import sys
import time


def main():
    log_path, watchdog, command = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    address = f"\0dedupfs-supervise-{os.getpid()}"
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(address)
    log = open(log_path, "a", buffering=1)
    child = None
    signal.signal(signal.SIGTERM, lambda *_: child and child.send_signal(signal.SIGTERM))
    for _ in range(5):
        environment = {**os.environ, "NOTIFY_SOCKET": "@" + address[1:], "WATCHDOG_USEC": str(int(watchdog * 1e6))}
        child = subprocess.Popen(command, env=environment)
        log.write(f"started {child.pid}\n")
        last_heard, is_ready = time.monotonic(), False
        while child.poll() is None:
            if select.select([notify], [], [], 0.05)[0]:
                message = notify.recv(65536).decode(errors="replace")
                is_ready = is_ready or "READY=1" in message
                if "WATCHDOG=1" in message or "READY=1" in message:
                    last_heard = time.monotonic()
                log.write(message.replace("\n", "|") + "\n")
            elif is_ready and time.monotonic() - last_heard > watchdog:
                log.write("watchdog\n")
                child.kill()
                last_heard = time.monotonic()
        log.write(f"ended {child.returncode}\n")
        if child.returncode == 0:
            return 0
        time.sleep(0.5)
    return 1


sys.exit(main())
