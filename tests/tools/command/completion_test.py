"""The completion scripts in the shells that they are for: what a line becomes when one types TAB at its end.

Usage: completion_test.py FOLDER, with the scripts of all programs in FOLDER. Prints PASS, FAIL or SKIP and a name a line.
"""
import fcntl
import os
import pathlib
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time

SECONDS = 60  # for a shell to start or to answer
# The folder of the test has a folder "volume" and a file "volatile". The space behind a finished word is the shell's choice.
LINES = {
    "an option": ("dedupfs-stat --js", "dedupfs-stat --json"),
    "an option of a group": ("fsck.dedupfs --verify", "fsck.dedupfs --verify-data"),
    "no option that is hidden": ("dedupfs-stat --comp", "dedupfs-stat --comp"),
    "a command": ("dedupfs-bench re", "dedupfs-bench resemble"),
    "an option of a command": ("dedupfs-bench chunk --off", "dedupfs-bench chunk --offsets"),
    "a word": ("mkfs.dedupfs --chunker rab", "mkfs.dedupfs --chunker rabin"),
    "a word behind =": ("mkfs.dedupfs --chunker=rab", "mkfs.dedupfs --chunker=rabin"),
    "a mount option": ("dedupfs -o auto_", "dedupfs -o auto_unmount"),
    "a mount option that has a value": ("dedupfs -o foreign,slow", "dedupfs -o foreign,slow_source="),
    "a mount option behind a value": ("dedupfs -o commit=5,auto_", "dedupfs -o commit=5,auto_unmount"),
    "an algorithm behind a spec": ("dedupfs-bench chunk --algorithm gear:avg=8k,ae-ma", "dedupfs-bench chunk --algorithm gear:avg=8k,ae-max"),
    "a folder, not a file": ("mkfs.dedupfs vol", "mkfs.dedupfs volume/"),
    "a folder behind =": ("dedupfs-bench chunk --plot=vol", "dedupfs-bench chunk --plot=volume/"),
    "a file that an option takes": ("dedupfs-report volume -o vola", "dedupfs-report volume -o volatile"),
    "a file": ("dedupfs-clone vola", "dedupfs-clone volatile"),
}
# Control-G shows the line.
BASH_STARTUP = r"""
for script in "$COMPLETIONS"/*; do case ${script##*/} in _* | *.fish) ;; *) source "$script" ;; esac; done
bind -x '"\C-g": printf "<%s>" "$READLINE_LINE"'
PS1='ready>'
"""
ZSH_STARTUP = r"""
fpath=($COMPLETIONS $fpath)
autoload -Uz compinit && compinit -u -d $ZDOTDIR/dump
show() { print -n "<$BUFFER>" }
zle -N show && bindkey -e '^G' show
unsetopt auto_list auto_menu
PS1='ready>'
"""


class Typed:
    """An interactive shell on a terminal of its own."""

    def __init__(self, command, environment):
        self.terminal, shell_side = pty.openpty()
        fcntl.ioctl(shell_side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 1000, 0, 0))  # no line wraps
        self.shell = subprocess.Popen(command, env=environment, stdin=shell_side, stdout=shell_side, stderr=shell_side,
                                      start_new_session=True)
        os.close(shell_side)
        self.read_until(b"ready>")

    def read_until(self, end):
        output, deadline = b"", time.monotonic() + SECONDS
        while not output.endswith(end):
            if not select.select([self.terminal], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"waiting for {end!r} after {output!r}")
            output += os.read(self.terminal, 1)
        return output

    def completed(self, line):
        os.write(self.terminal, line.encode() + b"\t\x07")
        self.read_until(b"<")
        answer = self.read_until(b">")[:-1].decode()
        os.write(self.terminal, b"\x15")  # empties the line
        return answer

    def close(self):
        os.close(self.terminal)
        self.shell.kill()
        self.shell.wait()


class Bash(Typed):
    def __init__(self, environment):
        startup = pathlib.Path(environment["HOME"], "bashrc")
        startup.write_text(BASH_STARTUP)
        super().__init__(["bash", "--rcfile", startup, "-i"], environment)


class Zsh(Typed):
    def __init__(self, environment):
        pathlib.Path(environment["HOME"], ".zshrc").write_text(ZSH_STARTUP)
        super().__init__(["zsh", "-d", "-i"], {**environment, "ZDOTDIR": environment["HOME"]})


class Fish:
    """Has a command that says what TAB would do."""

    def __init__(self, environment):
        self.environment = environment

    def completed(self, line):
        script = "set fish_complete_path $COMPLETIONS; complete -C $argv[1]"
        answer = subprocess.run(["fish", "--no-config", "-c", script, line], env=self.environment, timeout=SECONDS, check=True,
                                capture_output=True, text=True).stdout
        candidates = [candidate.split("\t")[0] for candidate in answer.splitlines()]
        return line.rpartition(" ")[0] + " " + candidates[0] if len(candidates) == 1 else line

    def close(self):
        pass


def failures_of(name, shell):
    failures = 0
    for what, (line, expected) in LINES.items():
        actual = shell.completed(line)
        passed = actual.rstrip(" ") == expected
        print(f"PASS {name}: {what}" if passed else f"FAIL {name}: {what}: {line!r} becomes {actual!r}, expected {expected!r}", flush=True)
        failures += not passed
    return failures


def main():
    completions = pathlib.Path(sys.argv[1]).resolve()
    failures = 0
    for name, kind in {"bash": Bash, "zsh": Zsh, "fish": Fish}.items():
        if shutil.which(name) is None:
            print(f"SKIP {name}: is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            pathlib.Path("volume").mkdir()
            pathlib.Path("volatile").touch()
            environment = {"PATH": f"{completions.parent}:{os.environ['PATH']}", "HOME": folder, "TERM": "dumb", "LC_ALL": "C.UTF-8",
                           "COMPLETIONS": str(completions)}
            shell = kind(environment)
            try:
                failures += failures_of(name, shell)
            finally:
                shell.close()
                os.chdir("/")
    sys.exit(failures != 0)


main()
