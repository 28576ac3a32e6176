package ddl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestAChangeOfTheCatalogAloneIsMadeAsItIsAsked(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		for i, c := range []struct{ alter, column, want string }{
			{"ADD COLUMN region varchar(16)", "region", "varchar"},
			{"ADD COLUMN zone varchar(16) NOT NULL DEFAULT 'eu', ADD COLUMN weight int", "zone", `not null default "eu"`},
			{"ALTER COLUMN state SET DEFAULT 'old'", "state", `default "old"`},
			{"RENAME COLUMN weight TO mass", "mass", "int"},
			{"DROP COLUMN mass", "mass", ""},
		} {
			j := r.job("catalog"+string(rune('a'+i)), c.alter, "")
			j.all()
			require.NotEmpty(t, j.events("definition compared"))
			j.cleanup()
			column := strings.ReplaceAll(r.column(c.column), "character varying", "varchar")
			if c.want == "" {
				require.Empty(t, column, c.alter)
			}
			require.Contains(t, column, c.want, c.alter)
			require.Empty(t, r.leftovers())
		}
	})
}

func TestWhatCopiesTheTableOrLocksItIsNotDirectAndThatIsExplained(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		before := r.shape()
		for _, c := range []struct{ postgres, mysql, want string }{
			{"ALTER customer TYPE int", "MODIFY customer int", "`strategy: auto` makes an online copy of the table instead"},
			{"ADD COLUMN n bigserial", "ADD COLUMN n int AUTO_INCREMENT UNIQUE", "cannot be altered directly"},
			{"ADD COLUMN r uuid DEFAULT gen_random_uuid(), DROP note", "MODIFY note varchar(20) CHARACTER SET latin1", "cannot be altered directly"},
			{"ADD COLUMN c int CHECK (c > 0)", "ADD CONSTRAINT positive CHECK (price > 0)", "cannot be altered directly"},
		} {
			j := r.job("refused", r.pick(c.postgres, c.mysql), "strategy: direct\n")
			_, err := j.preflight()
			require.ErrorContains(t, err, c.want)
			require.Equal(t, task.Config, fault.Of(err).Class, err.Error())
			t.Log(err)
		}
		require.Equal(t, before, r.shape())
		require.Empty(t, r.leftovers())
	})
}

func TestWhatIsNoChangeOfThisTableIsRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		for _, c := range []struct{ alter, want string }{
			{"RENAME TO invoices", "gives the table another name"},
			{"ADD COLUMN a int; DROP TABLE x", "a semicolon"},
			{"ADD COLUMN a int,", "a comma too many"},
			{"DROP COLUMN nothing", "the server refuses"},
			{"ADD COLUMN note int", "the server refuses"},
			{"ADD COLUMN a nonsense", "the server refuses"},
		} {
			_, err := r.job("refused", c.alter, "").preflight()
			require.ErrorContains(t, err, c.want)
			require.Equal(t, task.Config, fault.Of(err).Class, err.Error())
		}
		j := r.job("refused", "ADD COLUMN a int", "")
		j.spec.DDL.Table = r.table("nothing")
		_, err := j.preflight()
		require.ErrorContains(t, err, "there is no table "+r.table("nothing")+" on connection shop")
		require.Empty(t, r.leftovers())
	})
}

func TestAPlanSaysEveryStatementWithItsLockAndItsWayBackAndChangesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		before := r.shape()
		plan, err := r.job("p", "ADD COLUMN region varchar(16)", "").plan()
		require.NoError(t, err)
		require.Len(t, plan.Statements, 1)
		require.Contains(t, strings.ToLower(plan.Statements[0]), "exclusive, for a moment; cannot be taken back */ alter table")
		require.Contains(t, strings.Join(plan.Tables[0].Notes, "\n"), `after: column "region"`)
		require.Contains(t, strings.Join(plan.Warnings, "\n"), "point of no return")
		require.Equal(t, before, r.shape())
	})
}
