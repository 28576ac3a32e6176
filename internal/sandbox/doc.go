// Package sandbox runs throw-away PostgreSQL, MariaDB and MySQL servers for the demo, the tests and the benchmarks, and
// installs what they need.
//
// It promises that a server is a real one, made from nothing in a second or two, reachable on 127.0.0.1 only, with a
// password nobody else knows, and that nothing of it remains: its processes end with the process that started it, even
// when that is killed, and what such a killed process leaves on disk is removed by the next Start.
//
// One server has one folder (Server.Dir): data/ and tmp/, <kind>.log with what the server writes, owner.lock, which the
// starting process holds locked for as long as it lives, and sandbox.json, by which a later process finds the server's
// process. A server listens on TCP only; its own Unix socket, where it cannot do without one, lies in data/.
//
// It leaves to others what is in the databases, and does not look after servers it did not start. Times are bounded by
// the context that is given and by the limits in this package; errors name the server and end with the last lines of its
// log, without its password. It needs a Unix: Linux is what it is made for, where the kernel ends the servers with
// their starter; elsewhere a killed starter leaves them to the next Start.
package sandbox
