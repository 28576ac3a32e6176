// Package digest finds out whether two sides have the same rows, and which
// rows they are that differ.
//
// A row's hash is the 128-bit xxh3 of its canonical bytes: for each column its
// position, whether it is NULL, its length and its bytes. A Sum is the number
// of rows and the sum of their hashes modulo 2^128, so the order in which rows
// come does not matter, and how often a row is there does. It knows nothing of
// engines: what makes two values the same is decided by who makes the
// canonical bytes (package codec).
//
// It promises that an equal Sum means equal rows, except with the probability
// of a collision (about 1 in 10^38 for one accidental change; the hash is no
// defence against somebody who makes collisions on purpose), and that nothing
// is found equal that has not been read: a Sum comes into being only at the
// io.EOF of a stream, and any other error, a wrapped io.EOF included, is never
// the end of the data. Memory is bounded whatever the size of the tables.
//
// It leaves to others what is compared with what, and when: rows that change
// while they are read differ for a moment, which Diff lets pass by reading
// again what differs.
//
// Rows are counted, bytes are those of the values as the servers sent them.
package digest
