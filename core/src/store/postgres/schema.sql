CREATE SCHEMA IF NOT EXISTS fencehold;

CREATE TABLE IF NOT EXISTS fencehold.meta (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    format integer NOT NULL
);

-- Tokens. Every client raises it above the clock when it connects, so that a restored backup does not repeat any.
CREATE SEQUENCE IF NOT EXISTS fencehold.versions AS bigint;

-- One row for each permit that is held: NAME#SLOT. A renewal changes neither key nor granted, so it passes by the locks
-- that fencehold.guard takes; whoever takes the permit over, or gives it back, does not.
CREATE TABLE IF NOT EXISTS fencehold.permits (
    key bytea PRIMARY KEY,
    version bigint NOT NULL,
    granted bigint NOT NULL,
    expires timestamptz,
    updated timestamptz NOT NULL,
    value bytea NOT NULL,
    UNIQUE (key, granted)
) WITH (fillfactor = 50);

-- One row for each that waits: NAME#NUMBER.
CREATE TABLE IF NOT EXISTS fencehold.tickets (
    key bytea PRIMARY KEY,
    version bigint NOT NULL,
    expires timestamptz,
    updated timestamptz NOT NULL,
    value bytea NOT NULL
) WITH (fillfactor = 50);

-- The rows of users: NAMESPACE, a zero byte, KEY.
CREATE TABLE IF NOT EXISTS fencehold.rows (
    key bytea PRIMARY KEY,
    version bigint NOT NULL,
    expires timestamptz,
    updated timestamptz NOT NULL,
    value bytea NOT NULL
);

-- In a transaction of yours: it commits only while the lock is held under this token, and nobody takes the lock over
-- before it ends. FH001: the lock is lost. 40001: begin the transaction again.
CREATE OR REPLACE FUNCTION fencehold.guard(name text, token bigint, slot integer DEFAULT 0) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $guard$
DECLARE
    permit record;
    sees_the_past boolean := current_setting('transaction_isolation') IN ('repeatable read', 'serializable');
    remaining bigint;
    idle bigint;
BEGIN
    IF name IS NULL OR token IS NULL OR slot IS NULL THEN
        RAISE EXCEPTION 'fencehold.guard needs a name, a token and a slot' USING ERRCODE = '22004';
    END IF;
    SELECT p.version, p.granted, p.expires INTO permit FROM fencehold.permits p
        WHERE p.key = convert_to(name || '#' || slot, 'UTF8') FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'lock "%" is not held', name USING ERRCODE = 'FH001',
            HINT = 'A transaction that sees the past must begin after the lock was taken.';
    END IF;
    IF token > permit.version AND sees_the_past THEN
        RAISE EXCEPTION 'lock "%" was taken or renewed after this transaction began', name USING ERRCODE = '40001';
    END IF;
    IF token < permit.granted OR token > permit.version THEN
        RAISE EXCEPTION 'lock "%" is not held under token %', name, token USING ERRCODE = 'FH001';
    END IF;
    remaining := ceil(extract(epoch FROM permit.expires - clock_timestamp()) * 1000);
    IF permit.expires <= clock_timestamp() THEN
        IF sees_the_past AND permit.expires > transaction_timestamp() THEN
            RAISE EXCEPTION 'lock "%" may have been renewed after this transaction began', name
                USING ERRCODE = '40001';
        END IF;
        RAISE EXCEPTION 'lock "%" ended %', name, permit.expires USING ERRCODE = 'FH001';
    END IF;
    -- A client that stops in the middle holds up the next one no longer than the lease lasts.
    IF remaining IS NOT NULL THEN
        SELECT setting::bigint INTO idle FROM pg_settings WHERE pg_settings.name = 'idle_in_transaction_session_timeout';
        IF idle = 0 OR idle > remaining THEN
            PERFORM set_config('idle_in_transaction_session_timeout', greatest(remaining, 1)::text, true);
        END IF;
    END IF;
END
$guard$;

INSERT INTO fencehold.meta (format) VALUES (1) ON CONFLICT (one) DO NOTHING;
