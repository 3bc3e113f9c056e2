PRAGMA journal_mode = WAL;

-- What the lock protects. The fence is the highest that was accepted.
CREATE TABLE report (id TEXT PRIMARY KEY, body TEXT NOT NULL, fence INTEGER NOT NULL);
INSERT INTO report VALUES ('nightly', '', 0);

-- What happened, in the order of this database.
CREATE TABLE account (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    who TEXT NOT NULL,
    fence INTEGER NOT NULL,
    event TEXT NOT NULL CHECK (event IN ('acquired', 'wrote', 'refused', 'lost', 'releasing', 'killed', 'stopped', 'resumed'))
);

-- That a write landed is told by the table, not by the writer. The body begins with the writer's name.
CREATE TRIGGER landed AFTER UPDATE ON report BEGIN
    INSERT INTO account (who, fence, event)
    VALUES (substr(new.body, 1, instr(new.body, ' ') - 1), new.fence, 'wrote');
END;
