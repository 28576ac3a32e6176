package kind

import (
	"context"

	"godwit/internal/engine"
)

// Indexer builds and drops indexes of tables in use.
type Indexer interface {
	// PlanIndexes finds out what a wish comes to and changes nothing. What is not
	// there, cannot be built beside the writers, or may not be touched by this user
	// is a fault of class config.
	PlanIndexes(ctx context.Context, want *engine.IndexWish) (*engine.IndexPlan, error)
	// LookIndex finds out how far a work has come: begun is how many of its steps
	// have been begun, and mark the mark that the index had before the last of them.
	LookIndex(ctx context.Context, w *engine.IndexWork, begun int, mark string) (engine.IndexStand, error)
	// TryIndexLock takes the lock by which one index of a table is built at a time,
	// for the session's life; false when somebody else has it.
	TryIndexLock(ctx context.Context, session engine.Querier, table engine.Name) (bool, error)
	// Builders are sessions other than the named one that build an index of the
	// table just now.
	Builders(ctx context.Context, session string, table engine.Name) ([]engine.Blocker, error)
	// SweepIndex removes what builds have left of an index, or of any index of its
	// table, and tells what it was; of a work of which so many steps have been begun,
	// what they need stays. Nobody may be building one.
	SweepIndex(ctx context.Context, session engine.Querier, w *engine.IndexWork, begun int) (removed []string, err error)
	// BuildSettings writes the statements by which a session builds as it may, and
	// says in words how that is.
	BuildSettings(ctx context.Context, limits engine.BuildLimits) (settings []string, words string, err error)
	// IndexProgress tells how far the build of a session has come; workers is how
	// many have been seen to help.
	IndexProgress(ctx context.Context, session string, workers int) (engine.IndexProgress, error)
	// Duplicates names values that a unique index has no place for, empty for none.
	Duplicates(ctx context.Context, w *engine.IndexWork) (string, error)
	// UndoIndex writes the statement that takes a work back, empty when there is
	// nothing to be taken back.
	UndoIndex(ctx context.Context, w *engine.IndexWork) (string, error)
	// CheckIndex makes sure that an index is there, valid and as it has to be, and,
	// deep, that it is sound; it says in words what it has checked. What is wrong
	// is a fault of class mismatch.
	CheckIndex(ctx context.Context, w *engine.IndexWork, deep bool) (checked string, err error)
}
