// Package demo sets the stage of `godwit demo`: a Temporal server with its Web UI, a MariaDB or MySQL with a shop in it, an
// empty PostgreSQL and a worker that knows both as the connections legacy and warehouse, all of them throw-away.
//
// It promises that everything on the stage stays up while the stage does, so that people can kill what they like: what ends
// by itself is started again, and what it had said is kept. It promises that nothing remains when the stage is closed, nor
// when the process that set it is killed, but for files, which the next stage removes. Nothing of the environment that is
// about Temporal or connections reaches the programs on the stage.
//
// What is played on it, and how that looks, is left to the starter.
package demo
