"""What may be there after a crash.

dedupfs promises more than POSIX: the volume is in a state that existed. So there must be a moment, not before the last fsync
that was acknowledged began, such that each worker's folder is as its operations up to that moment left it: every name, byte,
mode, owner, attribute and link. That covers all weaker rules (what was synced is there, a rename is old or new, nobody sees
other files' or deleted data).
"""
import errno
import os

from .model import entries_of_folder
from .workload import EVENT, FAILED, RETURNED, STARTED, Generator

FOREVER = 1 << 62
PAGE = 4096


class State:
    """One that a worker's folder may be in: after the first `count` operations, and the first `part` bytes of the next."""

    def __init__(self, history, count, part=0):
        self.history, self.count, self.part = history, count, part

    def interval(self):
        """When a commit can have begun that holds just that."""
        started, returned = self.history.started, self.history.returned
        begin = started[self.count if self.part else self.count - 1] if self.count or self.part else 0
        return begin, (returned[self.count] if self.count < len(returned) else FOREVER)

    def fits(self, moment):
        first, last = self.interval()
        return first <= moment <= last

    def tree(self):
        generator = self.history.generator()
        for _ in range(self.count):
            generator.next()
        tree = generator.tree.copy()
        if self.part:
            tree.apply(first_part(generator.next(), self.part))
        return tree

    def __repr__(self):
        return f"{self.count}{f' and {self.part} bytes' if self.part else ''}"


def first_part(op, part):
    return (*op[:-1], op[-1][:part])


class History:
    """What one worker reported: when each of its operations began and returned."""

    def __init__(self, seed, tree, bulk=0):
        self.seed, self.before, self.bulk = seed, tree, bulk
        self.started, self.returned, self.failure = [], [], None
        self.pending = b""

    def take(self, data):
        self.pending += data
        whole = len(self.pending) - len(self.pending) % EVENT.size
        for kind, _, time, error in EVENT.iter_unpack(self.pending[:whole]):
            if kind == STARTED:
                self.started.append(time)
            elif kind == RETURNED:
                self.returned.append(time)
            elif kind == FAILED:
                self.failure = (time, error)
        self.pending = self.pending[whole:]

    def generator(self):
        return Generator(self.seed, self.before.copy(), self.bulk)

    def operations(self):
        """The operations that began, with the tree after each."""
        generator = self.generator()
        for _ in self.started:
            op = generator.next()
            yield op, generator.tree

    def acknowledged(self):
        """When each fsync that returned began and returned."""
        numbers = [i for i, (op, _) in enumerate(self.operations()) if op[0] == "fsync" and i < len(self.returned)]
        return [(self.started[i], self.returned[i]) for i in numbers]

    def changed_something(self, earliest, latest):
        """Whether an operation that changes something was done between the two."""
        return any(op[0] != "fsync" and begin > earliest and end < latest
                   for (op, _), begin, end in zip(self.operations(), self.started, self.returned))  # fmt: skip

    def matches(self, entries, first, last):
        """The states between the two counts with these entries; those in a row that change nothing are all there."""
        found = [State(self, 0)] if first == 0 and self.before.entries() == entries else []
        for i, (_, tree) in enumerate(self.operations()):
            if first <= i + 1 <= last and tree.entries() == entries:
                found.append(State(self, i + 1))
        return found or self.partial_matches(entries, first, last)

    def partial_matches(self, entries, first, last):
        """The kernel sends a write through its cache in up to three requests, split where pages of the file are."""
        found, before = [], self.before.copy()
        for i, (op, tree) in enumerate(self.operations()):
            if first <= i < last and op[0] in ("write", "append"):
                inode = before.names[op[1]]
                same = {path for path, other in before.names.items() if other is inode}
                expected = before.entries()
                if all(path in same for path in expected.keys() | entries.keys() if expected.get(path) != entries.get(path)):
                    found += [State(self, i, part) for part in page_parts(op, len(inode.data)) if is_part(before, op, part, entries)]
            before = tree.copy()
        return found


def page_parts(op, size):
    offset = op[2] if op[0] == "write" else size
    return range(PAGE - offset % PAGE, len(op[-1]), PAGE)


def is_part(before, op, part, entries):
    tree = before.copy()
    tree.apply(first_part(op, part))
    return tree.entries() == entries


def describe(op):
    return " ".join(f"{len(part)} bytes {part[:40]!r}" if isinstance(part, bytes) else str(part) for part in op)


class Verdict:
    def __init__(self):
        self.violations = []
        self.trees = None  # of the workers, as the volume has them; None: it cannot be told
        self.lost = 0  # operations that were done but not durable, as they may be


def differences(expected, found):
    for path in sorted(expected.keys() | found.keys()):
        if expected.get(path) != found.get(path):
            yield f"{path}: expected {expected.get(path)}, found {found.get(path)}"


def explain(name, history, entries, durable):
    """Why no state that is allowed has these entries."""
    older = history.matches(entries, 0, durable - 1)
    if older:
        op = [op for op, _ in history.operations()][older[-1].count]
        return [f"{name}: LOST: it is as after {older[-1]} operations, but {durable} were durable; the first that is lost: {describe(op)}"]
    best, best_count = None, -1
    candidates = [(0, history.before.entries())] if durable == 0 else []
    for i, (_, tree) in enumerate(history.operations()):
        if i + 1 >= durable:
            candidates.append((i + 1, tree.entries()))
    for count, expected in candidates:
        found = list(differences(expected, entries))
        if best is None or len(found) < len(best):
            best, best_count = found, count
    lines = [f"{name}: WRONG: no state between operations {durable} and {len(history.started)} is this; it differs least after {best_count}:"]
    lines += [f"  {line}" for line in best[:6]]
    paths = [line.split(":", 1)[0] for line in best[:3]]
    for i, (op, _) in enumerate(history.operations()):
        if any(path in op for path in paths):
            lines.append(f"  operation {i + 1}{'' if i < len(history.returned) else ' (in flight)'}: {describe(op)}")
    return lines[:60]


def judge(root, histories, cut=(FOREVER, FOREVER)):
    """Compares the folders of the workers below `root`, w0, w1 and so on, with what they reported. `cut`: when the power went,
    that is, when the shutdown of the filesystem below began and when it was done."""
    verdict = Verdict()
    acknowledged = [fsync for history in histories for fsync in history.acknowledged()]
    # The shutdown is no single moment: an fsync of ext4 that is waiting for the journal finds its transaction gone, with the
    # others that were aborted, and returns success (jbd2_complete_transaction). Nobody saw that before the power went.
    synced_at = max((begin for begin, end in acknowledged if end < cut[0]), default=0)
    for begin, _ in acknowledged:
        if begin > cut[1] and any(history.changed_something(cut[1], begin) for history in histories):
            verdict.violations.append("an fsync of what was changed after the power cut was acknowledged")
            break
    candidates = []
    for number, history in enumerate(histories):
        name = f"w{number}"
        # What returned before an fsync began that was acknowledged, by whomever, is durable.
        durable = sum(time < synced_at for time in history.returned)
        try:
            entries = entries_of_folder(os.path.join(root, name))
        except OSError as error:
            verdict.violations.append(f"{name}: cannot be read: {error}")
            if error.errno in (errno.ENOTCONN, errno.ECONNABORTED):
                return verdict
            candidates.append([])
            continue
        states = history.matches(entries, durable, len(history.started))
        if not states:
            verdict.violations += explain(name, history, entries, durable)
        candidates.append(states)
    if verdict.violations:
        return verdict
    moment = common_moment(candidates, synced_at)
    if moment is None:
        verdict.violations.append(f"no moment between the operations is that of all workers: {candidates}")
        return verdict
    chosen = [next(state for state in reversed(states) if state.fits(moment)) for states in candidates]
    verdict.trees = [state.tree() for state in chosen]
    verdict.lost = sum(max(0, len(history.returned) - state.count) for history, state in zip(histories, chosen))
    return verdict


def common_moment(candidates, earliest):
    moments = {earliest} | {max(earliest, state.interval()[0]) for states in candidates for state in states}
    for moment in sorted(moments, reverse=True):
        if all(any(state.fits(moment) for state in states) for states in candidates):
            return moment
    return None
