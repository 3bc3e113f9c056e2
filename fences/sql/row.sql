-- A fence on the row that is written. Runs on SQLite, PostgreSQL, MariaDB and MySQL as it stands.

-- Once: two columns on the table.
ALTER TABLE report ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
ALTER TABLE report ADD COLUMN writes BIGINT NOT NULL DEFAULT 0;

-- Every write; :fence is lock.fence. One row changed: it landed. None: somebody newer has written; stop.
-- `writes` makes an equal fence a change too: MySQL and MariaDB count only rows that differ afterwards.
UPDATE report SET body = :body, fence = :fence, writes = writes + 1 WHERE id = :id AND fence <= :fence;
