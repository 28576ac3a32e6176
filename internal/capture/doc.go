// Package capture keeps a copy of a table true while an application goes on
// writing to the table: triggers note the keys of changed rows in a changelog,
// and a Drainer reads these rows again and writes them to the copy.
//
// It promises that no change is lost, doubled or resurrected, in whatever order
// a change, the copy of the rows around it and the draining happen, and that
// the application sees no error from any of it. What makes it so:
//
//   - An entry is of the same transaction as its change. Who sees the entry sees
//     the change.
//   - Only entries of keys that are covered are drained: those that the copy has
//     passed in a transaction that is committed, see Covered. Others stay.
//   - To drain is to lock the changelog's door (entry 0), then to remove the
//     keys from the copy, to write there what the table has now, and to remove
//     exactly the entries that were read, in one transaction.
//
// Why nothing is lost. Let a change of key k be committed at e. Its entry is
// removed only by a draining that has seen it, and therefore reads k after e.
// Nobody writes an older k afterwards: not the copy, which wrote k before it
// covered it, and not another drainer, since the door makes drainers read one
// after the other. It does not matter whether coverage or entries are read
// first: both are, before the rows are read.
//
// Why nothing is resurrected, by where e is:
//
//   - before the chunk with k is read: the chunk has the change. Its entry is
//     drained later, to no effect.
//   - between the chunk's reading and its commit: the chunk writes an old k. The
//     entry is there, k is not covered, so the entry stays. As soon as the chunk
//     is committed, k is covered, and the entry is drained after it. Had the
//     entry been drained or thrown away before, as one that the copy will come
//     to anyway, the old k would stay for ever: this is why entries above the
//     checkpoints are left, and not discarded.
//   - after the chunk's commit: k is covered, the entry is drained.
//
// A change of a key is two entries, and each of them alone makes its key right:
// in between, a row can be in the copy twice or not at all, never at the end.
//
// The copy has to be such that this holds: the first shard is open below and
// the last one above, a chunk and its checkpoint are one transaction, a chunk
// that was superseded cannot commit, and a checkpoint never goes back while
// anybody drains: whoever starts a shard again has to fence drainers off first
// (the Fence of a Local: a generation of the ledger, which that raises).
//
// Values that have to be unique can be in the way of each other for a moment,
// since rows that swap them are noted, and copied, one after the other. What
// meets such a clash, a batch of a Drainer or a chunk of the copy (CopyRange of a
// Local), is done again tolerantly: it leaves out the rows that cannot be there
// yet and notes them as changed, in the same transaction. What is in their way
// is a row that has changed as well; draining its entry takes it out of the way,
// whatever becomes of it, so after two sweeps everything is in its place. A row
// that is held back again and again by one that has no entry, and so is in the
// copy as it is in the table, clashes in truth: an error of class data that
// names both rows.
//
// Where rows are read again and where they are written is a Sink's business. A
// Local does it within one server. Between two, a Sink reads from the one and
// commits on the other before it returns; the entries go after that, and a
// draining that is broken off in between is only done again.
//
// It leaves to others to find out what no trigger sees (CheckCapture of the
// engines refuses or warns), to decide when to drain, and to stop the
// application for the last draining (Finish).
package capture
