// Package connection is the named connections to databases: where they lead,
// their secrets, and their pools. They belong to the worker; everybody else
// knows names.
//
// A connection is defined by an environment variable,
//
//	GODWIT_CONNECTION_LEGACY=mysql://reader:secret@db1:3306/shop
//
// or in a YAML file,
//
//	legacy: mysql://reader:secret@db1:3306/shop
//	warehouse:
//	  url: postgres://loader@db2/warehouse
//	  password_file: /run/secrets/warehouse      # or password_env: VARIABLE
//	  tls: {mode: verify-full, ca: ca.pem}
//	  pool: 20
//	  limits: {migrations: 4, shards: 8}         # over all workers; the Capacity workflow goes by them
//
// where the variable wins over the file. Names consist of letters, digits, _
// and -; case does not matter, and - is the same as _, because a variable cannot
// have it. Paths are relative to the file's folder. What a URL may say after a
// ? is in urlParameters; anything unknown is an error.
//
// It promises that a password, or a URL that may hold one, is in no error, no
// log line and no printed value, and that every session of a pool is set up in
// the same way, whatever the server's own settings are (mysql_session.go,
// postgres_session.go): UTC, UTF-8, one way of writing each value, bounded
// waits for locks. A peer that is gone is noticed within a minute, while a
// statement may run for as long as it takes. A password file is read for every
// new session, so a rotated secret needs no restart.
//
// Pools are opened when they are first asked for. Errors are fault.Error: of
// class config when somebody has to mend something (name, password, database,
// certificate), busy when the server has no session left, and transient when it
// cannot be reached.
//
// It leaves to others what the sessions are used for.
package connection
