package ddl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestWhatIsDoneInPlaceWithoutBuildingAnythingIsDirect(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.orders()
		r.exec("ALTER TABLE " + r.table("orders") + " ADD INDEX by_note (note), ADD INDEX by_price (price)")
		for i, c := range []struct{ alter, want, gone string }{
			{"DROP INDEX by_price", "", `"by_price"`},
			{"RENAME INDEX by_note TO noted", `index "noted"`, `"by_note"`},
			{"MODIFY note varchar(40)", `column "note" varchar(40)`, "varchar(20)"},
			{"COMMENT 'all of them', ALTER state SET DEFAULT 'old'", `comment "all of them"`, `default "new"`},
		} {
			j := r.job("inplace"+string(rune('a'+i)), c.alter, "")
			plan, err := j.plan()
			require.NoError(t, err, c.alter)
			require.Contains(t, strings.Join(plan.Tables[0].Notes, "\n"), "a change of the catalog alone: ALGORITHM=")
			j.all()
			j.cleanup()
			shape := strings.Join(r.shape(), "\n")
			require.Contains(t, shape, c.want)
			require.NotContains(t, shape, c.gone)
		}
		require.Empty(t, r.leftovers())
	})
}

func TestWhatIsBuiltBesideTheWritersIsDoneOnlyWhenItIsAskedFor(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.orders()
		for i, c := range []struct{ alter, builds, want string }{
			{"ADD UNIQUE INDEX by_note (note)", "builds an index", `unique index "by_note" btree "note"`},
			{"MODIFY customer bigint NOT NULL", "writes the table anew", `column "customer" bigint`},
		} {
			plan, err := r.job("auto", c.alter, "").plan()
			require.NoError(t, err)
			way := strings.Join(plan.Tables[0].Notes, "\n")
			require.Contains(t, way, "an online copy of the table: ")
			require.Contains(t, way, c.builds)
			require.Contains(t, way, "`strategy: direct` allows it all the same")
			j := r.job("direct"+string(rune('a'+i)), c.alter, "strategy: direct\n")
			plan, err = j.plan()
			require.NoError(t, err)
			require.Contains(t, strings.Join(plan.Warnings, "\n"), "replicas are behind")
			j.all()
			j.cleanup()
			require.Contains(t, strings.Join(r.shape(), "\n"), c.want)
		}
		require.Empty(t, r.leftovers())
	})
}

func TestRowsInTheWayOfWhatIsBuiltAreNamedBeforeAnythingIsChanged(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.orders()
		r.exec("UPDATE "+r.table("orders")+" SET customer = NULL WHERE id IN (3, 7)", "UPDATE "+r.table("orders")+" SET note = 'n9' WHERE id = 10")
		before := r.shape()
		for _, c := range []struct{ alter, want string }{
			{"MODIFY customer bigint NOT NULL", "customer must not be NULL, which 2 rows do not meet (id=3 customer=NULL, id=7 customer=NULL)"},
			{"ADD UNIQUE INDEX by_note (note)", "note must be unique, which 2 rows do not meet (id="},
		} {
			_, err := r.job("data", c.alter, "strategy: direct\n").preflight()
			require.ErrorContains(t, err, c.want)
			require.Equal(t, task.Data, fault.Of(err).Class)
		}
		require.Equal(t, before, r.shape())
		require.Empty(t, r.leftovers())
	})
}

func TestForeignKeysCanBeDroppedByThemselves(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.orders()
		r.exec("CREATE TABLE "+r.table("customers")+" (id bigint PRIMARY KEY)", "INSERT INTO "+r.table("customers")+" SELECT customer FROM "+r.table("orders"),
			"ALTER TABLE "+r.table("orders")+" ADD CONSTRAINT known FOREIGN KEY (customer) REFERENCES customers (id)")
		for _, c := range []struct{ alter, want string }{
			{"DROP FOREIGN KEY known, ADD COLUMN a int", "can be done directly by itself only"},
			{"ADD CONSTRAINT other FOREIGN KEY (customer) REFERENCES customers (id)", "cannot be tried on an empty clone"},
			{"ADD COLUMN a int, ALGORITHM=INSTANT", "is for Godwit to say"},
			{"ADD COLUMN a int /*! , DROP note */", "a comment that the server executes"},
			{"DROP PARTITION p0", "throws rows away"},
		} {
			_, err := r.job("refused", c.alter, "").preflight()
			require.ErrorContains(t, err, c.want)
		}
		j := r.job("keys", "DROP FOREIGN KEY known", "")
		j.all()
		j.cleanup()
		require.NotContains(t, strings.Join(r.shape(), "\n"), "foreign key")
	})
}

func TestACommentAtTheEndOfAnAlterIsNoHarm(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.orders()
		j := r.job("comment", "ADD COLUMN a int # and no more", "")
		j.all()
		require.Contains(t, r.column("a"), "int")
	})
}
