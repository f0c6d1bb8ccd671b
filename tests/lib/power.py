# SPDX-License-Identifier: Apache-2.0
"""Loss of power at every call that changes a file, from the log of one run (file_log.c).

What was not synced may be lost: the bytes of a file until it is synced, a name until its folder is. The log is played
call by call, and after each one the power goes: what survives of the rest is nothing, all, names without their bytes,
bytes without their names, or any of it. So do ALICE and CrashMonkey (OSDI 2014, 2018).
"""
import concurrent.futures
import hashlib
import os
import random
import shutil
import stat

SURVIVES = {False: ("nothing", "names", "bytes", "any", "any", "all"), True: ("any", "all")}  # True: after a write
SECTOR = 512


class Inode:
    def __init__(self, mode, data=b""):
        self.mode = mode
        self.seen = self.safe = data
        self.lost = []  # changes of the bytes since the last sync: (at, data) or (size, None)


def changed(data, change):
    at, new = change
    if new is None:
        return data[:at].ljust(at, b"\0")
    return data[:at].ljust(at, b"\0") + new + data[at + len(new):]


class Disk:
    """Two images of the folder: what programs see, and what is safe; between them what a sync would carry over."""

    def __init__(self, root):
        self.inodes = {}  # by a number of our own: the disk's are used again
        self.number = {}  # inode of the disk -> ours
        self.safe = {}    # our number of a folder -> name -> our number
        self.seen = {}
        self.lost = []    # changes of names since their folder was synced: [(folder, name, number or None)...]
        self.root = self._add_tree(root)

    def _add(self, ino, mode, data=b""):
        n = len(self.inodes)
        self.inodes[n] = Inode(mode, data)
        self.number[ino] = n
        if stat.S_ISDIR(mode):
            self.safe[n], self.seen[n] = {}, {}
        return n

    def _add_tree(self, path):
        st = os.lstat(path)
        data = b""
        if stat.S_ISREG(st.st_mode):
            with open(path, "rb") as file:
                data = file.read()
        elif stat.S_ISLNK(st.st_mode):
            data = os.readlink(path).encode()
        n = self._add(st.st_ino, st.st_mode, data)
        if stat.S_ISDIR(st.st_mode):
            for name in os.listdir(path):
                self.safe[n][name] = self.seen[n][name] = self._add_tree(os.path.join(path, name))
        return n

    def _name(self, *changes):
        put(self.seen, changes)
        self.lost.append(changes)

    def play(self, fields, data):
        kind = fields[0]
        if kind in ("new", "link"):
            folder, name, ino = self.number[int(fields[1])], fields[2], int(fields[3])
            n = self.number[ino] if kind == "link" else self._add(ino, int(fields[4], 8), data)
            self._name((folder, name, n))
        elif kind == "gone":
            self._name((self.number[int(fields[1])], fields[2], None))
        elif kind in ("move", "swap"):
            a, b = self.number[int(fields[1])], self.number[int(fields[3])]
            n, m = self.seen[a][fields[2]], self.seen[b].get(fields[4]) if kind == "swap" else None
            self._name((a, fields[2], m), (b, fields[4], n))
        elif kind == "sync":
            self._sync(self.number[int(fields[1])], data)
        else:
            inode = self.inodes[self.number[int(fields[1])]]
            change = (int(fields[2]), data if kind == "write" else None)
            inode.seen = changed(inode.seen, change)
            inode.lost.append(change)

    def _sync(self, n, data):
        inode = self.inodes[n]
        if not stat.S_ISDIR(inode.mode):
            inode.seen = inode.safe = data
            inode.lost = []
            return
        for changes in self.lost:
            if any(folder == n for folder, _, _ in changes):
                put(self.safe, changes)
        self.lost = [c for c in self.lost if all(folder != n for folder, _, _ in c)]

    def after(self, survives, draw):
        """What is there when the power is back: {path: (mode, data)}."""
        names = {folder: dict(entries) for folder, entries in self.safe.items()}
        for changes in self.lost:
            if survives in ("all", "names") or (survives == "any" and draw.random() < 0.5):
                put(names, changes)
        tree = {}

        def add(n, path):
            inode = self.inodes[n]
            tree[path] = (inode.mode, bytes_after(inode, survives, draw))
            for name, m in names.get(n, {}).items():
                add(m, f"{path}/{name}")
        add(self.root, "")
        return tree


def put(names, changes):
    for folder, name, n in changes:
        if n is None:
            names[folder].pop(name, None)
        else:
            names[folder][name] = n


def bytes_after(inode, survives, draw):
    if survives in ("all", "bytes"):
        return inode.seen
    data = inode.safe
    for at, new in inode.lost if survives == "any" else ():
        if new is None or draw.random() < 0.3:
            data = changed(data, (at, new)) if draw.random() < 0.5 else data
            continue
        for part in range(0, len(new), SECTOR):  # torn
            if draw.random() < 0.7:
                data = changed(data, (at + part, new[part:part + SECTOR]))
    return data


def records(path):
    """(end in the log, fields, data) of each record."""
    with open(path, "rb") as file:
        while line := file.readline():
            *fields, size = line.decode().rstrip("\n").split("/")
            data = file.read(int(size))
            yield file.tell(), fields, data


def write_tree(tree, to):
    for path, (mode, data) in sorted(tree.items()):
        if stat.S_ISDIR(mode):
            os.mkdir(to + path, 0o700)
        elif stat.S_ISLNK(mode):
            os.symlink(data.decode(), to + path)
        else:
            with open(os.open(to + path, os.O_WRONLY | os.O_CREAT, stat.S_IMODE(mode)), "wb") as file:
                file.write(data)


def digest(tree):
    h = hashlib.sha256()
    for path, (mode, data) in sorted(tree.items()):
        if not path.endswith("-shm"):  # SQLite makes it anew after a start of the machine
            h.update(f"{path}\0{mode}\0{len(data)}\0".encode() + data)
    return h.digest()


def cuts(disk, log, promises, seed):
    """Each state that a loss of power can leave, once, with the most that was promised before it.
    promises: [(size of the log when it was given, what)]; gives (what happened last, survives, tree, [what])"""
    draw = random.Random(seed)
    found = {}
    for end, fields, data in records(log):
        disk.play(fields, data)
        given = [what for at, what in promises if at <= end]
        for survives in SURVIVES[fields[0] == "write"]:
            tree = disk.after(survives, draw)
            found[digest(tree)] = (" ".join(fields), survives, tree, given)
    return list(found.values())


def sample(states, stride, seed):
    """Of many states each stride-th, beginning where the seed says, so that other days take the others; and the last one."""
    return [s for i, s in enumerate(states) if i % stride == seed % stride or i == len(states) - 1] if len(states) > 100 else states


def check_all(disk, log, promises, check, work, seed, at_once=2, stride=1):
    """check(folder, [what]) of each state, or of a sample, with the folder as the power left it; it raises what is wrong.
    Returns how many there were, and how many of them after a promise."""
    states = sample(cuts(disk, log, promises, seed), stride, seed)

    def one(numbered):
        i, (last, survives, tree, given) = numbered
        folder = f"{work}/cut-{i}"
        os.mkdir(folder)
        try:
            write_tree(tree, folder + "/disk")
            check(folder, given)
        except Exception as e:
            files = ", ".join(f"{p}:{len(d)}" for p, (m, d) in sorted(tree.items()) if p)
            raise AssertionError(f"power lost after: {last}; of what was not synced survives: {survives}\n"
                                 f"  there is: {files}\n  {type(e).__name__}: {e}") from e
        shutil.rmtree(folder)

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for _ in pool.map(one, enumerate(states)):
            pass
    return len(states), sum(1 for _, _, _, given in states if given)
