package corpus

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/starter/control"
)

func TestCorpus(t *testing.T) {
	all := names(t)
	r := newRig(t, all)
	t.Run("Cases", func(t *testing.T) {
		for _, name := range all {
			for _, c := range trials(t, name) {
				t.Run(name+"/"+string(c.engine), func(t *testing.T) {
					t.Parallel()
					r.turn(t)
					r.run(t, &c)
				})
			}
		}
	})
}

// run runs a trial.
func (r *rig) run(t *testing.T, c *trial) {
	g, err := r.ground(c.engine)
	require.NoError(t, err)
	d := newDatabase(t, c, g.server)
	s := d.session()
	for _, p := range []place{main, reference} {
		s.script(p, c.source)
	}
	s.script(main, c.once)
	w := d.write()
	w.more(1)
	m := &migration{t: t, desk: g.desk, id: "ddl-" + connectionName(c.engine, c.name)}
	before := w.rounds.Load()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last events:\n%s", strings.Join(s.events(), "\n"))
		}
	})
	_, err = g.desk.Start(context.Background(), control.Order{Spec: c.settings(t), ID: m.id})
	require.NoError(t, err)
	if c.want.End == "success" {
		m.succeeds(c, w)
		require.True(t, len(c.dml) == 0 || w.rounds.Load() >= before+5, "nothing was written during the copy: %d rounds", w.rounds.Load()-before)
	} else {
		m.fails(c, w)
	}
	if c.want.End == "success" && c.want.Then == "" {
		s.alter()
	}
	d.same(s)
	require.NoError(t, s.enter(main))
	for _, q := range c.want.Queries {
		require.Equal(t, strings.TrimSpace(q.Is), strings.Join(s.lines(q.SQL), "\n"), q.SQL)
	}
	require.Empty(t, s.beside(), "what is left of the migration")
}

// settings is the spec, with what makes a copy of few rows last for a while
// where it says nothing about that itself.
func (c *trial) settings(t *testing.T) *spec.Spec {
	t.Helper()
	all := map[string]any{"strategy": "shadow", "keep_old": "0s", "shards": map[string]any{"rows": 100}, "chunks": map[string]any{"rows": 20}}
	if len(c.dml) > 0 {
		all["throttle"] = map[string]any{"rows_per_second": 300}
	}
	if c.want.Then != "" {
		all["keep_old"] = "1h"
	}
	if c.want.Writer != "" {
		all["cutover"] = map[string]any{"mode": "manual"}
	}
	maps.Copy(all, c.spec)
	all["kind"], all["database"] = "ddl", connectionName(c.engine, c.name)
	text, err := yaml.Marshal(all)
	require.NoError(t, err)
	s, err := spec.Parse("spec.yaml", text)
	require.NoError(t, err)
	return s
}

// succeeds waits for the success, and for the rollback where there is to be one.
func (m *migration) succeeds(c *trial, w *writer) {
	m.t.Helper()
	ctx := context.Background()
	if c.want.Writer == "before" {
		_, waits, err := m.desk.AwaitEffect(ctx, m.id, lasts, func(a control.Answer) bool {
			return a.Status.State.Final() || strings.Contains(a.Status.WaitingFor, "godwit cutover")
		})
		require.NoError(m.t, err)
		w.ends()
		if st := m.status(); waits && !st.State.Final() {
			require.NoError(m.t, m.desk.Update(ctx, m.id, task.CutoverUpdate, task.Request{By: "corpus"}))
		}
	}
	m.comes(task.Success, m.desk.AwaitState)
	if !w.broken() {
		w.more(3)
	}
	if c.want.Then == "rollback" {
		_, err := m.desk.Rollback(ctx, m.id, task.Request{By: "corpus"})
		require.NoError(m.t, err)
		m.comes(task.RolledBack, m.desk.AwaitEnd)
		if !w.broken() {
			w.more(3)
		}
	} else {
		m.comes(task.Success, m.desk.AwaitEnd)
	}
	w.ends()
}

// fails waits for the failure, and takes back what was done.
func (m *migration) fails(c *trial, w *writer) {
	m.t.Helper()
	m.comes(task.Failed, m.desk.AwaitState)
	failure := m.status().Error
	require.NotNil(m.t, failure)
	for _, words := range c.want.Says {
		require.Contains(m.t, failure.Message, words)
	}
	if c.want.End == "refused" {
		require.Equal(m.t, task.Preflight, failure.Phase, failure.Message)
	} else {
		require.NotEqual(m.t, task.Preflight, failure.Phase, failure.Message)
		_, err := m.desk.Rollback(context.Background(), m.id, task.Request{By: "corpus"})
		require.NoError(m.t, err)
		m.comes(task.RolledBack, m.desk.AwaitEnd)
	}
	w.more(3)
	w.ends()
}

// alter alters the reference, by the server itself.
func (s *session) alter() {
	s.d.t.Helper()
	statements := s.d.reference
	if statements == nil {
		statements = []string{s.d.trial.alter()}
	}
	s.script(reference, statements)
}

// same compares the tables with the reference's.
func (d *database) same(s *session) {
	d.t.Helper()
	require.Equal(d.t, d.definition(s, reference), d.definition(s, main), "the definition")
	tables := s.tables(reference)
	require.Equal(d.t, tables, s.tables(main))
	for _, table := range tables {
		want, have := s.contents(reference, table), s.contents(main, table)
		require.Equal(d.t, len(want), len(have), "rows of %s", table)
		for i := range want {
			require.Equal(d.t, want[i], have[i], "row %d of %s", i, table)
		}
	}
}
