package kind

import (
	"context"

	"godwit/internal/engine"
)

// Reshaper writes tables anew beside the ones in use.
type Reshaper interface {
	// Reshape plans it, on an empty clone of the table, and changes nothing. What
	// is wrong with the ALTER, or hangs on the table and would be lost, is a
	// fault of class config that names it.
	Reshape(ctx context.Context, want *engine.Reshape) (*engine.Reshaping, error)
	// Stand looks which of the tables there are.
	Stand(ctx context.Context, r *engine.Reshaping) (engine.Stand, error)
	// CreateShadow makes the shadow, empty: it is there as a whole or not at all.
	// One that is there already is left.
	CreateShadow(ctx context.Context, r *engine.Reshaping) error
	// DropBeside drops one of the tables beside the one in use, with what was left
	// half made of it; none is no error. It waits for locks as long as a short
	// statement may, and then fails with class busy.
	DropBeside(ctx context.Context, r *engine.Reshaping, name engine.Name) error
	// BuildShadow builds an index or key, unless it is there.
	BuildShadow(ctx context.Context, r *engine.Reshaping, b engine.Build) error
	// CopyTerms are what a copy of the table should keep to, so that the commits of
	// others do not wait for it.
	CopyTerms(ctx context.Context, t *engine.Table) (engine.CopyTerms, error)
	// FreshenShadow makes the server look at the shadow's rows, for its plans.
	FreshenShadow(ctx context.Context, r *engine.Reshaping) error

	// Steady writes the statements by which all that a transaction of a session
	// reads is of one moment.
	Steady() []string
	// Compare compares a part of the table with the shadow, the rows of some keys
	// left out. All is of one moment when the session is steady.
	Compare(ctx context.Context, q engine.Querier, r *engine.Reshaping, part engine.Part, but []engine.Key) (engine.Compared, error)
	// Disagreements lists rows of such a part that differ.
	Disagreements(ctx context.Context, q engine.Querier, r *engine.Reshaping, part engine.Part, but []engine.Key, limit int) ([]engine.Disagreement, error)

	// Freshen looks whether the plan is still right about what hangs on the table,
	// and makes the statements of the swap anew where it is not; the plan itself
	// where it is. What cannot be taken over is a fault of class config.
	Freshen(ctx context.Context, want *engine.Reshape, r *engine.Reshaping) (*engine.Reshaping, error)
	// Hanging is what hangs on a table, in lines; nothing where all of it goes by
	// the table's name.
	Hanging(ctx context.Context, table engine.Name) (engine.Shape, error)

	// Swap tries once to change the tables' names, in a session that is of no
	// more use then. A lock that is not to be had is an error of class busy, and
	// nothing has changed; after any other error, Stand tells.
	Swap(ctx context.Context, session engine.Session, s *engine.Swap) error
	// Settle does what follows a swap; it may be done again.
	Settle(ctx context.Context, r *engine.Reshaping, back bool) error
}
