package spec

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// splitRegion is a pipeline with a step of each sort.
const splitRegion = `kind: pipeline
name: split-region
steps:
  - {name: ready, wait: {database: shop, query: "SELECT ready FROM flags", between: "22:00-04:00"}}
  - {name: add, ddl: {database: shop, table: orders, alter: "ADD COLUMN region varchar(16)"}, timeout: 2h, on_failure: rollback}
  - {name: fill, backfill: {database: shop, table: orders, set: {region: "'eu'"}, timeouts: {transform: 1h}}, timeout: 12h, retries: 2, backoff: 1m}
  - name: both
    group:
      - {name: check, sql: {database: shop, query: "SELECT 0", expect: 0}, needs: fill}
      - {name: tell, http: {url: "https://example.test/go", method: POST}}
  - {name: index, reindex: {database: shop, table: orders}, on_failure: skip, when: {database: shop, query: "SELECT 1"}, needs: [fill, nightly]}
  - {name: go, approve: true}
`

func TestAPipelineIsReadWithTheDefaultsOfItsSteps(t *testing.T) {
	s, err := Parse("p.yaml", []byte(splitRegion))
	require.NoError(t, err)
	p := s.Pipeline
	require.Equal(t, "shop", p.Home())
	require.Len(t, p.Steps, 6)
	require.Len(t, p.Flat(), 7)
	require.Equal(t, Duration(10*time.Second), p.Steps[0].Wait.Every)
	require.Zero(t, p.Steps[1].DDL.Priority, "the pipeline's counts")
	require.Equal(t, 3, p.Steps[1].Migration().Priority)
	require.Equal(t, 5, p.Steps[2].Backfill.Passes)
	require.Equal(t, Scalar("0"), p.Steps[3].Group[0].SQL.Expect)
	require.Equal(t, "approve", p.Steps[5].Kind())
}

func TestAPipelineIsTheSameAfterItHasTravelled(t *testing.T) {
	s, err := Parse("p.yaml", []byte(splitRegion))
	require.NoError(t, err)
	raw, err := json.Marshal(s)
	require.NoError(t, err)
	var back Spec
	require.NoError(t, json.Unmarshal(raw, &back))
	require.Equal(t, *s, back)
}

func TestTheMigrationOfAStepIsACompleteSpec(t *testing.T) {
	s, err := Parse("p.yaml", []byte(splitRegion))
	require.NoError(t, err)
	migrations := 0
	for _, step := range s.Pipeline.Flat() {
		m := step.Migration()
		if m == nil {
			continue
		}
		migrations++
		require.NoError(t, m.Validate())
		require.Equal(t, Hold, m.OnFailure, "what is done about a failure is the pipeline's to say")
		raw, err := json.Marshal(m)
		require.NoError(t, err)
		var back Spec
		require.NoError(t, json.Unmarshal(raw, &back))
		require.Equal(t, *m, back)
	}
	require.Equal(t, 4, migrations)
}

func TestMistakesInAPipelineAreFoundWithTheirPlaceAndTheNearestChoice(t *testing.T) {
	const head = "kind: pipeline\nsteps:\n"
	const ok = "  - {name: a, sql: {database: shop, query: SELECT 0}}\n"
	for _, c := range []struct{ name, steps, want string }{
		{"an unknown reaction", "  - {name: a, sql: {database: s, query: q}, on_failure: skipp}\n",
			`p.yaml:3:57: field "steps[0].on_failure": "skipp" is not a valid choice; did you mean "skip"?`},
		{"an unknown kind of step", "  - {name: a, dll: {database: s}}\n",
			`p.yaml:3:15: field "steps[0].dll": unknown field; did you mean "ddl"?`},
		{"a field of a step's migration", "  - {name: a, ddl: {database: s, table: t, altar: x}}\n",
			`p.yaml:3:44: field "steps[0].ddl.altar": unknown field; did you mean "alter"?`},
		{"a rule of a step's kind", "  - {name: a, backfill: {database: s, table: t t, set: {a: b}}}\n",
			`p.yaml:3:46: field "steps[0].backfill.table": "t t" is not a table's name`},
		{"two things at once", "  - {name: a, sql: {database: s, query: q}, wait: {between: \"01:00-02:00\"}}\n",
			`field "steps[0].wait": the step has sql already: make a step of each`},
		{"nothing at all", "  - {name: a}\n", `field "steps[0]": does nothing: give it one of copy`},
		{"a name twice", ok + "  - {name: a, approve: true}\n", `p.yaml:4:12: field "steps[1].name": "a" is the name of steps[0] already`},
		{"a name that cannot be part of an id", "  - {name: A b, sql: {database: s, query: q}}\n", `"A b" is not a step's name`},
		{"a group within a group", "  - {name: a, group: [{name: b, group: [{name: c, approve: true}]}]}\n", `groups within groups are not supported by this version yet`},
		{"a group with a timeout", "  - {name: a, timeout: 1h, group: [{name: b, sql: {database: s, query: q}}]}\n",
			`field "steps[0].timeout": belongs to the steps of the group`},
		{"two of a group about one table", "  - {name: a, group: [{name: b, reindex: {database: s, table: t}}, {name: c, ddl: {database: S, table: t, alter: x}}]}\n",
			`field "steps[0].group[1].ddl.table": is the table of step b, which is done at the same time`},
		{"a need that is nothing", ok + "  - {name: b, approve: true, needs: aa}\n", `"aa" is not an earlier step (there is only a)`},
		{"a need of itself", "  - {name: a, sql: {database: s, query: q}, needs: a}\n", `"a" is this step, or one that is done beside it`},
		{"a reaction without a timeout", "  - {name: a, sql: {database: s, query: q}, on_timeout: skip}\n", `there is no timeout that it could be done about`},
		{"a wait for nothing", "  - {name: a, wait: {every: 1m}}\n" + strings.ReplaceAll(ok, "a,", "b,"), `waits for nothing`},
		{"an address with a password", "  - {name: a, http: {url: \"https://u:hunter2@h/\"}}\n" + strings.ReplaceAll(ok, "a,", "b,"), `must have no user and no password`},
		{"a secret as such", "  - {name: a, http: {url: \"https://h/\", secret_headers: {Authorization: hunter2}}}\n" + strings.ReplaceAll(ok, "a,", "b,"), `must be the name of an environment variable`},
		{"a secret among the headers", "  - {name: a, http: {url: \"https://h/\", headers: {authorization: Bearer hunter2}}}\n" + strings.ReplaceAll(ok, "a,", "b,"), `field "steps[0].http.headers.authorization": must not be here`},
		{"a key among the headers", "  - {name: a, http: {url: \"https://h/\", headers: {X-Api-Key: hunter2}}}\n" + strings.ReplaceAll(ok, "a,", "b,"), `secret_headers: {X-Api-Key: GODWIT_HTTP_…}`},
		{"a token among the headers", "  - {name: a, http: {url: \"https://h/\", headers: {PRIVATE-TOKEN: hunter2}}}\n" + strings.ReplaceAll(ok, "a,", "b,"), `must not be here`},
		{"a token in the address", "  - {name: a, http: {url: \"https://h/?access_token=hunter2\"}}\n" + strings.ReplaceAll(ok, "a,", "b,"), `access_token looks like one`},
		{"an undo of a call", "  - {name: a, http: {url: \"https://h/\", undo: x}}\n" + strings.ReplaceAll(ok, "a,", "b,"), `field "steps[0].http.undo": not supported by this version yet`},
		{"a transaction in a statement", "  - {name: a, sql: {database: s, statement: [\"BEGIN\", \"DELETE FROM t\"]}}\n", `must not begin or end a transaction`},
		{"a transaction behind a comment", "  - {name: a, sql: {database: s, statement: \"/* all */ COMMIT\"}}\n", `must not begin or end a transaction`},
		{"a transaction behind a statement", "  - {name: a, sql: {database: s, statement: \"DELETE FROM t; commit; DELETE FROM u\"}}\n", `must not begin or end a transaction`},
		{"a comment that the server runs", "  - {name: a, sql: {database: s, statement: \"-- all\\n/*!50000 ALTER TABLE t ENGINE=InnoDB */\"}}\n", `must not begin with a comment that the server runs`},
		{"no home for the ledger", "  - {name: a, approve: true}\n", `field "ledger": is missing`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("p.yaml", []byte(head+c.steps))
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestWhatBelongsToStepsIsRefusedForThePipeline(t *testing.T) {
	for field, want := range map[string]string{
		"throttle: {parallel: 2}": "belongs to the steps", "verify: {mode: none}": "belongs to the steps",
		"timeouts: {transform: 1h}": "belongs to the steps", "backup: {mode: dump}": "not supported by this version yet",
	} {
		_, err := Parse("p.yaml", []byte(splitRegion+field+"\n"))
		require.ErrorContains(t, err, want, field)
	}
}

func TestTheBodyOfAFunctionMayHaveStatementsOfItsOwn(t *testing.T) {
	for _, text := range []string{"CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'", "DO 'BEGIN PERFORM 1; END'", "UPDATE t SET a = 1; UPDATE t SET b = 1"} {
		_, err := Parse("s.yaml", []byte("kind: sql\ndatabase: shop\nstatement: \""+text+"\"\n"))
		require.NoError(t, err, text)
	}
}

func TestHeadersThatTellNothingOfWhoCallsAreSent(t *testing.T) {
	_, err := Parse("p.yaml", []byte("kind: pipeline\nledger: shop\nsteps:\n  - {name: a, http: {url: \"https://h/?page=1&tokens=2\", headers: {Content-Type: text/plain, X-Tokens: \"3\", X-Author: me}}}\n"))
	require.NoError(t, err)
}

func TestAStatementIsTriedByTheRulesOfItsKind(t *testing.T) {
	s, err := Parse("s.yaml", []byte("kind: sql\ndatabase: shop\nstatement: DELETE FROM a\nundo: [INSERT INTO a VALUES (1), INSERT INTO a VALUES (2)]\n"))
	require.NoError(t, err)
	require.Equal(t, task.SQL, s.Kind)
	require.Equal(t, "shop: DELETE FROM a", s.Name)
	require.Len(t, s.SQL.Undo, 2)
	_, err = Parse("s.yaml", []byte("kind: sql\ndatabase: shop\n"))
	require.EqualError(t, err, `s.yaml:1:1: field "statement": is missing: give a statement, a query, or both`)
}
