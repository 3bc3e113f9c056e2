-- A fence for whatever a transaction writes. Runs on SQLite, PostgreSQL, MariaDB and MySQL as it stands.

-- Once: the table, and a row for each resource that is written under a lock of its own.
CREATE TABLE fence (resource VARCHAR(190) NOT NULL PRIMARY KEY, fence BIGINT NOT NULL, writes BIGINT NOT NULL);
INSERT INTO fence (resource, fence, writes) VALUES ('reports/nightly', 0, 0);

-- First in every transaction that writes the resource; :fence is lock.fence.
-- One row changed: go on and commit. None: somebody newer has written; roll back and stop.
-- `writes` makes an equal fence a change too: MySQL and MariaDB count only rows that differ afterwards.
UPDATE fence SET fence = :fence, writes = writes + 1 WHERE resource = :resource AND fence <= :fence;
