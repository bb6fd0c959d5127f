"""The engines that `./dev bench search` compares: each fills itself, says how large it is, and answers.

Every one is started for the bench in a folder of its own, on loopback, and stopped again. They are given what helps
them: no syncing while they fill, bulk loading, the index built afterwards where that is faster, and a second clean-up
after the clock has stopped. All rank every match and give the ten best with their titles and a piece of text that shows
the words, as a page of results has it; MariaDB cannot, and gives the beginning of the text.
"""

import os
import pathlib
import shutil
import socket
import sqlite3
import subprocess
import time
import urllib.parse
import urllib.request
import json

import search_corpus

BATCH = 1_000


def batches(rows):
    """The rows in pieces: parsing JSON is on nobody's clock."""
    batch = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def size_of(folder):
    return sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*") if path.is_file())


def forget(folder):
    """Takes the files out of the page cache, as far as the system lets go of them."""
    os.sync()
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def processor_time(pids):
    """Seconds that all threads of these processes and of their children have run so far."""
    total, waiting = 0, list(pids)
    while waiting:
        pid = waiting.pop()
        for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
            try:
                total += int((task / "schedstat").read_text().split()[0])
                waiting += (task / "children").read_text().split()
            except OSError:
                pass  # It has just ended.
    return total / 1e9


class Engine:
    """What all have in common. `ask` gives the number of rows that came back, at most ten."""

    name = ""
    # What one empty question and answer takes; taken off the times, in favour of the one that has it.
    round_trip = 0.0
    # Processor time of filling it, in seconds.
    fill_worked = 0.0
    # Whether it has files of its own, or asks those of another.
    fills = True
    # Seconds from its start until it could be asked, of every cold start.
    opened = ()

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def start(self):
        pass

    def stop(self):
        pass

    def restart_cold(self):
        self.stop()
        forget(self.folder)
        self.start_timed()

    def start_timed(self):
        began = time.perf_counter()
        self.start()
        self.opened += (time.perf_counter() - began,)

    def pids(self):
        """Whose processor time a query takes; Python's own where there is none."""
        return []

    def timed(self, query):
        """Seconds on the clock, seconds of processor time, rows."""
        pids = self.pids()
        spent = (lambda: processor_time(pids)) if pids else time.thread_time
        worked, began = spent(), time.perf_counter()
        rows = self.ask(query)
        taken = time.perf_counter() - began
        return max(taken - self.round_trip, 0.0), max(spent() - worked, 0.0), rows


class Teia(Engine):
    """In the process of a small program (examples/search_bench.rs), as SQLite is in that of Python. It is open when it
    is warmed up, as `teia serve` does it beside its first answers."""

    name = "teia"
    asking = "ask"

    def __init__(self, folder, program):
        super().__init__(folder)
        self.program = program
        self.process = None

    def fill(self, corpus, documents):
        command = [self.program, "index", corpus, self.folder / "index", str(documents)]
        figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        self.fill_worked = figures["worked"]
        return figures["seconds"]

    def sizes(self):
        whole = size_of(self.folder)
        return whole, whole - sum(path.stat().st_size for path in self.folder.rglob("*.store"))

    def query(self, kind, words):
        return {
            "any": " ".join(words),
            "all": " ".join("+" + word for word in words),
            "not": f"+{words[0]} -{words[1]}",
            "phrase": '"' + " ".join(words) + '"',
        }[kind]

    def start(self):
        self.process = subprocess.Popen(
            [self.program, self.asking, self.folder / "index"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.process.stdout.readline()

    def stop(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def timed(self, query):
        self.process.stdin.write(query + "\n")
        self.process.stdin.flush()
        seconds, worked, total = self.process.stdout.readline().split()
        return float(seconds), float(worked), min(int(total), 10)


class TeiaCold(Teia):
    """The same index with nothing read ahead, as `teia search` asks it. Shown beside, not compared."""

    name = "teia without reading ahead"
    asking = "ask-cold"
    fills = False


class TeiaServer(Teia):
    """The same index behind `teia serve`: HTTP, JSON, snippets, facets. Shown beside, not compared."""

    name = "teia over HTTP"
    fills = False

    def __init__(self, folder, program, binary, index):
        super().__init__(folder, program)
        self.binary = binary
        self.data = self.folder / "data"
        command = [binary, "urls", "add", "-", "--data", self.data]
        subprocess.run(command, input=b"http://corpus.example/\n", check=True, capture_output=True)
        (self.data / "default/index").symlink_to(index)

    def start(self):
        self.port = free_port()
        log = (self.folder / "log").open("wb")
        command = [self.binary, "serve", "--data", self.data, "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_for(lambda: socket.create_connection(("127.0.0.1", self.port), 1).close())

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None

    def restart_cold(self):
        self.stop()
        forget((self.data / "default/index").resolve())
        self.start_timed()

    def timed(self, query):
        worked = processor_time([self.process.pid])
        address = f"http://127.0.0.1:{self.port}/api/search?q={urllib.parse.quote(query)}"
        began = time.perf_counter()
        with urllib.request.urlopen(address) as answer:
            body = answer.read()
        taken = time.perf_counter() - began
        worked = processor_time([self.process.pid]) - worked
        return taken, worked, len(json.loads(body)["hits"])


def wait_for(attempt, seconds=60):
    until = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except Exception:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


class Sqlite(Engine):
    """FTS5, stemmed as ours is (porter), accents folded, bm25."""

    name = "SQLite FTS5"
    connection = None

    def start(self):
        self.connection = sqlite3.connect(self.folder / "corpus.db")
        self.connection.execute("pragma cache_size = -262144")
        self.connection.execute("pragma mmap_size = 4294967296")

    def stop(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def fill(self, corpus, documents):
        self.start()
        for setting in ("journal_mode = off", "synchronous = off"):
            self.connection.execute(f"pragma {setting}")
        spent, worked = 0.0, 0.0
        create = "create virtual table d using fts5(title, body, tokenize = 'porter unicode61 remove_diacritics 2')"
        self.connection.execute(create)
        for batch in batches(search_corpus.read(corpus, documents)):
            began, at = time.perf_counter(), time.thread_time()
            self.connection.executemany("insert into d(rowid, title, body) values (?, ?, ?)", batch)
            spent += time.perf_counter() - began
            worked += time.thread_time() - at
        began, at = time.perf_counter(), time.thread_time()
        self.connection.commit()
        spent += time.perf_counter() - began
        self.fill_worked = worked + time.thread_time() - at
        # Not on the clock: one segment is what its queries are fastest with.
        self.connection.execute("insert into d(d) values ('optimize')")
        self.connection.commit()
        return spent

    def sizes(self):
        whole = size_of(self.folder)
        text = self.connection.execute("select sum(length(cast(c0 as blob)) + length(cast(c1 as blob))) from d_content")
        return whole, whole - text.fetchone()[0]

    def query(self, kind, words):
        quoted = [f'"{word}"' for word in words]
        return {
            "any": " OR ".join(quoted),
            "all": " AND ".join(quoted),
            "not": " NOT ".join(quoted),
            "phrase": '"' + " ".join(words) + '"',
        }[kind]

    def ask(self, query):
        shown = "snippet(d, 1, '<b>', '</b>', '…', 34)"
        sql = f"select rowid, title, {shown}, rank from d where d match ? order by rank limit 10"
        return len(self.connection.execute(sql, (query,)).fetchall())


class Server(Engine):
    """A database server with a connection from Python."""

    process = None
    connection = None

    def stop(self):
        if self.connection:
            self.connection.close()
            self.connection = None
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None

    def pids(self):
        return [self.process.pid]

    def execute(self, sql, arguments=()):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, arguments)
            return cursor.fetchall() if cursor.description else []

    def ask(self, query):
        sql, arguments = query
        return len(self.execute(sql, arguments))

    def measure_round_trip(self):
        times = []
        for _ in range(200):
            began = time.perf_counter()
            self.execute("select 1")
            times.append(time.perf_counter() - began)
        self.round_trip = sorted(times)[len(times) // 2]

    def restart_cold(self):
        super().restart_cold()
        self.measure_round_trip()

    def spent(self, *statements):
        began = time.perf_counter()
        for sql in statements:
            self.execute(sql)
        return time.perf_counter() - began


class Postgres(Server):
    """A stored tsvector with a GIN index, ts_rank_cd."""

    name = "PostgreSQL"

    def __init__(self, folder):
        super().__init__(folder)
        self.binaries = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))[-1].parent
        # PostgreSQL does not run as root.
        self.owner = []
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
            self.owner = ["runuser", "-u", "postgres", "--"]
        if not (self.folder / "data").exists():
            command = ["initdb", "-D", self.folder / "data", "-A", "trust", "-U", "bench", "-E", "UTF8", "--locale=C.UTF-8"]
            self.run(*command)

    def run(self, program, *arguments):
        command = [*self.owner, self.binaries / program, *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")

    def start(self):
        import psycopg2

        port = free_port()
        settings = [
            f"-c port={port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}",
            "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c wal_level=minimal -c max_wal_senders=0",
            "-c shared_buffers=1GB -c maintenance_work_mem=512MB -c work_mem=64MB -c jit=off -c max_wal_size=4GB",
        ]
        log = self.folder / "log"
        self.run("pg_ctl", "-D", self.folder / "data", "-w", "-l", log, "-o", " ".join(settings), "start")
        self.connection = psycopg2.connect(host="127.0.0.1", port=port, user="bench", dbname="postgres")
        self.connection.autocommit = True

    def pids(self):
        return [self.connection.info.backend_pid]

    def stop(self):
        if self.connection:
            self.connection.close()
            self.connection = None
            self.run("pg_ctl", "-D", self.folder / "data", "-w", "-m", "fast", "stop")

    def fill(self, corpus, documents):
        from psycopg2.extras import execute_values

        self.start()
        spent = self.spent("create table d (id int primary key, title text, body text, v tsvector)")
        sql = "insert into d (id, title, body, v) values %s"
        row = "(%s, %s, %s, to_tsvector('english', %s))"
        with self.connection.cursor() as cursor:
            for batch in batches(search_corpus.read(corpus, documents)):
                whole = [(number, title, text, f"{title}\n{text}") for number, title, text in batch]
                began = time.perf_counter()
                execute_values(cursor, sql, whole, template=row, page_size=200)
                spent += time.perf_counter() - began
        spent += self.spent("create index on d using gin (v)")
        self.fill_worked = processor_time(self.pids())
        self.execute("vacuum analyze d")
        return spent

    def sizes(self):
        whole = self.execute("select pg_total_relation_size('d')")[0][0]
        return whole, self.execute("select pg_relation_size('d_v_idx')")[0][0]

    def query(self, kind, words):
        text = {
            "any": " | ".join(words),
            "all": " & ".join(words),
            "not": f"{words[0]} & !{words[1]}",
            "phrase": " <-> ".join(words),
        }[kind]
        sql = (
            "select id, title, ts_headline('english', body, q), s from (select id, title, body, q, ts_rank_cd(v, q) as s "
            "from d, to_tsquery('english', %s) as q where v @@ q order by s desc limit 10) as best"
        )
        return sql, (text,)


class MariaDb(Server):
    """InnoDB FULLTEXT over title and body: Fischer's engine is MySQL."""

    name = "MariaDB"

    def __init__(self, folder):
        super().__init__(folder)
        # Without tables of users there is nothing to install; it listens on loopback, and not for long.
        (self.folder / "data").mkdir(exist_ok=True)

    def start(self):
        import pymysql

        port = free_port()
        command = ["mariadbd", "--no-defaults", f"--datadir={self.folder / 'data'}", "--user=root"]
        command += [f"--socket={self.folder / 'socket'}", f"--port={port}", "--bind-address=127.0.0.1"]
        command += ["--skip-grant-tables", "--innodb-buffer-pool-size=1G", "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0"]
        command += ["--innodb-log-file-size=1G", "--innodb-ft-cache-size=80000000", "--innodb-ft-sort-pll-degree=2"]
        command += ["--innodb-sort-buffer-size=64M", "--max-allowed-packet=256M", "--skip-name-resolve"]
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        connect = lambda: pymysql.connect(
            host="127.0.0.1", port=port, user="root", charset="utf8mb4", max_allowed_packet=256 << 20, autocommit=True
        )
        self.connection = wait_for(connect)
        self.execute("create database if not exists bench")
        self.execute("use bench")

    def fill(self, corpus, documents):
        self.start()
        spent = self.spent("create table d (id int primary key, title text, body mediumtext) character set utf8mb4")
        with self.connection.cursor() as cursor:
            for batch in batches(search_corpus.read(corpus, documents)):
                began = time.perf_counter()
                cursor.execute("begin")
                cursor.executemany("insert into d values (%s, %s, %s)", batch)
                cursor.execute("commit")
                spent += time.perf_counter() - began
        spent += self.spent("create fulltext index words on d (title, body)")
        self.fill_worked = processor_time(self.pids())
        self.execute("analyze table d")
        return spent

    def sizes(self):
        files = [path for path in (self.folder / "data/bench").rglob("*.ibd")]
        whole = sum(path.stat().st_size for path in files)
        return whole, sum(path.stat().st_size for path in files if path.name.upper().startswith("FTS_"))

    def query(self, kind, words):
        text = {
            "any": " ".join(words),
            "all": " ".join("+" + word for word in words),
            "not": f"+{words[0]} -{words[1]}",
            "phrase": '"' + " ".join(words) + '"',
        }[kind]
        match = "match (title, body) against (%s in boolean mode)"
        sql = f"select id, title, left(body, 200), {match} as s from d where {match} order by s desc limit 10"
        return sql, (text, text)
