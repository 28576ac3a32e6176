// Package corpus runs the folders of testdata/corpus: one for each thing that
// can go wrong when the definition of a table is changed while it is used.
// Adding a case is adding a folder; its README says what is in one.
//
// Every case runs on each engine that it has files for, through the real phases:
// a Temporal server, a worker, a database of its own. Beside the table there is
// a reference: made of the same statements in another schema, and changed by the
// same statements in the same transactions. In the end the server itself alters
// the reference, and both have to have the same definition and the same rows.
// So what is right is not said by anything of Godwit's.
//
// It leaves kills, frozen workers and many writers at full speed to package
// chaos. All of it is in its tests.
package corpus
