"""A project is made, opened, held by one server, and refused with one sentence where it cannot be used."""

import os
import re
import sqlite3
import subprocess
import sys
import threading

import pytest

from retainer.errors import InputError
from retainer.workbench import database, schema
from retainer.workbench.project import DATABASE_FILE, Project


def refused(folder, says, **how):
    with pytest.raises(InputError) as raised:
        Project.open(folder, **how)
    assert re.search(says, str(raised.value)) and "\n" not in str(raised.value)
    return str(raised.value)


class TestOpen:
    def test_a_new_one_has_the_layout(self, project, folder):
        with project.database.reading() as connection:
            [application], [layout], [mode], [keys] = (
                connection.execute(f"PRAGMA {name}").fetchone()
                for name in ("application_id", "user_version", "journal_mode", "foreign_keys")
            )
        assert (application, layout, mode, keys) == (schema.APPLICATION_ID, len(schema.LAYOUTS), "wal", 1)
        assert project.versions.folder("v1") == folder / "versions" / "v1"
        assert project.job_folder(3) == folder / "jobs" / "3"

    def test_a_change_is_on_the_disk_before_it_is_confirmed(self, project):
        with project.database.writing() as connection:
            assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2

    def test_closed_it_is_one_file(self, folder):
        Project.open(folder, create=True).close()
        assert [path.name for path in folder.iterdir()] == [DATABASE_FILE]
        Project.open(folder).close()

    def test_where_there_is_none(self, folder, tmp_path):
        refused(folder, "is not a project: there is no project.sqlite")
        assert not folder.exists()
        (tmp_path / "file").write_text("x")
        refused(tmp_path / "file", "file cannot be written: File exists", create=True)

    def test_a_folder_with_something_else(self, folder):
        folder.mkdir()
        (folder / ".hidden").touch()
        Project.open(folder, create=True).close()
        (folder / DATABASE_FILE).unlink()
        (folder / "versions").mkdir()
        refused(folder, "not empty: there is 'versions'", create=True)

    def test_a_killed_beginning_is_begun_again(self, folder):
        folder.mkdir()
        (folder / DATABASE_FILE).touch()
        with Project.open(folder) as project, project.database.reading() as connection:
            assert connection.execute("SELECT count(*) FROM texts").fetchone()[0] == 0

    def test_an_emptied_database_is_not_a_new_project(self, folder):
        (folder / "versions").mkdir(parents=True)
        (folder / DATABASE_FILE).touch()
        refused(folder, "put the project.sqlite back")


class TestDamage:
    def test_of_a_newer_retainer(self, folder, monkeypatch):
        Project.open(folder, create=True).close()
        with sqlite3.connect(folder / DATABASE_FILE) as connection:
            connection.execute("PRAGMA user_version = 7")
        refused(folder, r"project.sqlite has layout 7, and .* up to \d; install a newer one")

    def test_of_another_program(self, folder):
        folder.mkdir()
        with sqlite3.connect(folder / DATABASE_FILE) as connection:
            connection.execute("CREATE TABLE other (id)")
        refused(folder, "is a database of another program")

    @pytest.mark.parametrize("damage", [b"not a database at all" * 99, None])
    def test_damaged(self, folder, damage):
        Project.open(folder, create=True).close()
        path = folder / DATABASE_FILE
        whole = path.read_bytes()
        path.write_bytes(damage or whole[:4096] + os.urandom(4096) + whole[8192:])
        said = refused(folder, "project.sqlite is damaged .* put back a copy")
        assert f"sqlite3 {path} .recover" in said

    def test_truncated(self, folder):
        Project.open(folder, create=True).close()
        path = folder / DATABASE_FILE
        path.write_bytes(path.read_bytes()[:-5000])
        refused(folder, "is damaged")


class TestMigration:
    SECOND = "CREATE TABLE notes (id INTEGER PRIMARY KEY, note TEXT);\nINSERT INTO notes (note) VALUES ('a; b');\n"

    @pytest.fixture
    def old(self, folder):
        """A project of the present layout, which is then an old one."""
        with Project.open(folder, create=True) as project, project.database.writing() as connection:
            connection.execute("INSERT INTO types (name, colour, position) VALUES ('city', 0, 1)")
        return folder

    def rows(self, folder, table):
        with Project.open(folder) as project, project.database.reading() as connection:
            return [tuple(row) for row in connection.execute(f"SELECT * FROM {table}")]

    def test_an_old_project_gets_what_it_lacks(self, old, monkeypatch):
        monkeypatch.setattr(schema, "LAYOUTS", (*schema.LAYOUTS, self.SECOND))
        assert self.rows(old, "notes") == [(1, "a; b")] and len(self.rows(old, "types")) == 1
        assert self.rows(old, "notes") == [(1, "a; b")], "once"

    def test_old_and_new_end_alike(self, old, tmp_path, monkeypatch):
        monkeypatch.setattr(schema, "LAYOUTS", (*schema.LAYOUTS, self.SECOND))
        Project.open(tmp_path / "new", create=True).close()
        made = "sqlite_master WHERE name NOT LIKE 'sqlite%' ORDER BY name"
        assert [row[4] for row in self.rows(old, made)] == [row[4] for row in self.rows(tmp_path / "new", made)]

    def test_one_that_fails_changes_nothing(self, old, monkeypatch):
        layouts = schema.LAYOUTS
        monkeypatch.setattr(schema, "LAYOUTS", (*layouts, self.SECOND + "INSERT INTO nowhere VALUES (1);\n"))
        with pytest.raises(sqlite3.OperationalError):
            Project.open(old)
        monkeypatch.setattr(schema, "LAYOUTS", layouts)
        assert "notes" not in [row[1] for row in self.rows(old, "sqlite_master")]

    def test_not_under_a_server(self, old, monkeypatch):
        with Project.open(old) as project, project.served():
            monkeypatch.setattr(schema, "LAYOUTS", (*schema.LAYOUTS, self.SECOND))
            refused(old, f"process {os.getpid()} serves .* now; stop it first")


class TestConnections:
    def test_two_servers(self, project, folder):
        with project.served(), Project.open(folder) as other:
            with pytest.raises(InputError, match=f"process {os.getpid()} serves"), other.served():
                pass
        with project.served():
            pass

    def test_a_change_is_whole(self, project):
        with pytest.raises(RuntimeError), project.database.writing() as connection:
            connection.execute("INSERT INTO types (name, colour, position) VALUES ('a', 0, 1)")
            with project.database.writing() as same, project.database.reading() as inside:
                assert same is inside is connection
            raise RuntimeError
        with project.database.reading() as connection:
            assert connection.execute("SELECT count(*) FROM types").fetchone()[0] == 0

    def test_readers_do_not_wait_for_the_writer(self, project):
        def count():
            with project.database.reading() as connection:
                found.append(connection.execute("SELECT count(*) FROM types").fetchone()[0])

        found = []
        with project.database.writing() as connection:
            connection.execute("INSERT INTO types (name, colour, position) VALUES ('a', 0, 1)")
            thread = threading.Thread(target=count)
            thread.start()
            thread.join(5)
        count()
        assert found == [0, 1]

    def test_a_reader_changes_nothing(self, project):
        with pytest.raises(InputError, match="you may only read it"), project.database.reading() as connection:
            connection.execute("DELETE FROM types")

    def test_threads_write_one_after_the_other(self, project):
        def add(name):
            with project.database.writing() as connection:
                position = connection.execute("SELECT count(*) FROM types").fetchone()[0]
                connection.execute("INSERT INTO types (name, colour, position) VALUES (?, 0, ?)", (name, position))

        threads = [threading.Thread(target=add, args=(f"type {number}",)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        with project.database.reading() as connection:
            positions = [row[0] for row in connection.execute("SELECT position FROM types ORDER BY position")]
        assert positions == list(range(20))

    def test_another_process_writes(self, project, folder, monkeypatch):
        monkeypatch.setattr(database, "WAIT_SECONDS", 0.05)
        with Project.open(folder) as other, project.database.writing():
            with pytest.raises(InputError, match="is being written by another process"), other.database.writing():
                pass

    def test_a_full_disk(self, project):
        with project.database.writing() as connection:
            connection.execute("INSERT INTO types (name, colour, position) VALUES ('kept', 0, 1)")
        with project.database.reading() as connection:
            [pages] = connection.execute("PRAGMA page_count").fetchone()
        with pytest.raises(InputError, match="the disk is full; nothing was changed"):
            with project.database.writing() as connection:
                connection.execute(f"PRAGMA max_page_count = {pages}")
                connection.execute("INSERT INTO types (name, colour, position) VALUES (?, 0, 1)", ("x" * 99999,))
        with project.database.writing() as connection:
            connection.execute("PRAGMA max_page_count = 99999")
            assert [row[0] for row in connection.execute("SELECT name FROM types")] == ["kept"]

    def test_half_a_character_and_huge_numbers(self, project):
        for value, says in (("\ud800", "half a character"), (10**30, "larger than any")):
            with pytest.raises(InputError, match=says), project.database.reading() as connection:
                connection.execute("SELECT ?", (value,))

    def test_our_own_fault_stays_one(self, project):
        with pytest.raises(sqlite3.OperationalError), project.database.reading() as connection:
            connection.execute("SELECT * FROM nowhere")


WRITER = """
import sys
from retainer.workbench.project import Project
with Project.open(sys.argv[1], create=True) as project:
    for number in range(int(sys.argv[2]), 10**9):
        with project.database.writing() as connection:
            for half in "ab":
                row = (f"{number}{half}", number)
                connection.execute("INSERT INTO types (name, colour, position) VALUES (?, 0, ?)", row)
        print(number, flush=True)
"""


def test_nothing_confirmed_is_lost_to_kill_9(folder):
    """A writer is killed again and again; what it confirmed is there, and of what it did not confirm all or nothing."""
    begin = 0
    for round in range(5):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, folder, str(begin)], stdout=subprocess.PIPE, text=True)
        confirmed = [int(writer.stdout.readline()) for _ in range(3 + 7 * round)]
        writer.kill()
        confirmed += [int(line) for line in writer.stdout.read().splitlines()]
        writer.wait()
        with Project.open(folder) as project, project.database.reading() as connection:
            found = [row[0] for row in connection.execute("SELECT position FROM types ORDER BY position")]
        assert found == sorted([*range(found[-1] + 1)] * 2) and found[-1] - confirmed[-1] in (0, 1)
        begin = found[-1] + 1
