package connection

// postgresSession sets a PostgreSQL session up, so that it does not depend on
// how server, database and role are configured.
//
//   - Values: UTC; dates and intervals are written in one way (an interval of
//     hours as MySQL writes a TIME), floating point numbers exactly, bytea as
//     hex. Names mean what they say, because the search_path is empty, and
//     a row-level security policy that would hide rows is an error.
//   - Waiting: 10 s for a lock, no limit on how long a statement runs. A
//     transaction in which nothing happens for a minute is ended, with its locks.
//   - A worker that is gone is noticed within a minute, so that its session,
//     its locks and its snapshot end; also, where the server can, while a
//     statement of it is running.
//
// They are statements and not part of the connection's beginning, where a
// connection pooler refuses them. The last one is for settings that only newer
// servers have.
const postgresSession = `
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET intervalstyle = 'postgres';
SET extra_float_digits = 3;
SET bytea_output = 'hex';
SET xmloption = 'content';
SET standard_conforming_strings = on;
SET search_path = '';
SET row_security = off;
SET default_transaction_isolation = 'read committed';
SET statement_timeout = 0;
SET lock_timeout = '10s';
SET idle_in_transaction_session_timeout = '60s';
SET tcp_keepalives_idle = 15;
SET tcp_keepalives_interval = 5;
SET tcp_keepalives_count = 6;
SET tcp_user_timeout = '45s';
SELECT pg_catalog.set_config(wanted.name, wanted.value, false)
FROM (VALUES
    ('client_connection_check_interval', '10s'),
    ('idle_session_timeout', '0'),
    ('transaction_timeout', '0')) AS wanted (name, value)
JOIN pg_catalog.pg_settings AS known ON known.name = wanted.name`
