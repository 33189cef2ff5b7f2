"""Runs a program at a terminal of its own, and answers its questions, which must not show the answers.

Usage: at_terminal.py ANSWERS COMMAND...      ANSWERS is a file with one answer a line

Prints what the terminal showed, and ends as the program does. A question that has no answer left is not answered: the program is
ended then.
"""
import os
import pty
import select
import signal
import sys
import termios
import time


def is_silent(terminal):
    return not termios.tcgetattr(terminal)[3] & termios.ECHO


def has_ended(child):
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def read_what_is_there(terminal, seconds):
    if not select.select([terminal], [], [], seconds)[0]:
        return b""
    try:
        return os.read(terminal, 65536)
    except OSError:  # all that had the terminal have closed it
        time.sleep(seconds)
        return b""


def main(answers, command):
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(command[0], command)
    shown, since_answer, deadline = b"", b"", time.monotonic() + 50
    while not has_ended(child) and time.monotonic() < deadline:
        part = read_what_is_there(terminal, 0.02)
        shown, since_answer = shown + part, since_answer + part
        # An answer that comes before the echo is off is thrown away by the program.
        if since_answer.endswith(b": ") and is_silent(terminal):
            if not answers:
                break
            os.write(terminal, answers.pop(0) + b"\n")
            since_answer = b""
    if not has_ended(child):
        os.kill(child, signal.SIGTERM)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    while part := read_what_is_there(terminal, 0):
        shown += part
    sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as lines:
        sys.exit(main(lines.read().splitlines(), sys.argv[2:]))
