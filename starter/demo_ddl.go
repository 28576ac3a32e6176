package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"

	"godwit/internal/demo"
	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/starter/control"
)

// demoAlter changes the orders of the shop in a way that no server can do without
// a copy of the table.
const demoAlter = "ALTER COLUMN total TYPE numeric(20,4), ADD COLUMN region varchar(16) NOT NULL DEFAULT 'eu'"

// calm is how long the traffic is measured before and after.
const calm = 3 * time.Second

// demoStretch is a stretch of the change, and what the application felt of it.
type demoStretch struct {
	What string `json:"what"`
	demo.Latencies
}

// demoChange is what became of the change.
type demoChange struct {
	Table     string        `json:"table"`
	Alter     string        `json:"alter"`
	Migration task.Status   `json:"migration"`
	Traffic   []demoStretch `json:"traffic"`
}

// alter changes the shop's orders, in the target, while an application writes to them.
func (a *app) alter(ctx context.Context, stage *demo.Stage, show *demoScreen) (_ *demoChange, err error) {
	desk, err := a.openOn(ctx, stage)
	if err != nil {
		return nil, err
	}
	table, err := stage.OrdersTable(ctx)
	if err != nil {
		return nil, err
	}
	traffic, err := stage.StartTraffic(ctx, table)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closing := traffic.Close(); closing != nil && err == nil {
			err = fmt.Errorf("a statement of the application failed: %w", closing)
		}
	}()
	before := time.Now()
	if err := sleep(ctx, calm); err != nil {
		return nil, err
	}
	s, err := demoAlterSpec(table)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	started, err := desk.Start(ctx, control.Order{Spec: s})
	if err != nil {
		return nil, err
	}
	show.altering(table, started)
	answer, err := desk.Status(ctx, started.ID)
	if err != nil {
		return nil, err
	}
	if answer, err = look(ctx, desk, answer, show.copying()); err != nil {
		return nil, err
	}
	ended := time.Now()
	if err := sleep(ctx, calm); err != nil {
		return nil, err
	}
	change := &demoChange{Table: table, Alter: demoAlter, Migration: answer.Status}
	change.Traffic = append(change.Traffic, demoStretch{"before", traffic.Between(before, begun)})
	for _, step := range answer.Status.Steps {
		if step.StartedAt != nil && step.EndedAt != nil && shown[step.Name] != "" {
			change.Traffic = append(change.Traffic, demoStretch{shown[step.Name], traffic.Between(*step.StartedAt, *step.EndedAt)})
		}
	}
	change.Traffic = append(change.Traffic, demoStretch{"after", traffic.Between(ended, time.Now())})
	return change, nil
}

// shown are the phases in which the application may feel something.
var shown = map[string]string{string(task.Transform): "while rows are copied", string(task.Verify): "while they are compared", string(task.Cutover): "at the cut-over"}

// demoAlterSpec changes the orders; the old table is kept, as it is by default.
func demoAlterSpec(table string) (*spec.Spec, error) {
	s, err := spec.New(task.DDL)
	if err != nil {
		return nil, err
	}
	s.DDL.Database, s.DDL.Table, s.DDL.Alter = demo.TargetConnection, table, demoAlter
	s.Defaults()
	return s, s.Validate()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// writeChange prints what the application felt.
func writeChange(w io.Writer, c *demoChange) error {
	if _, err := fmt.Fprintf(w, "\nALTER TABLE %s %s\nwhile an application changed orders:\n\n", c.Table, c.Alter); err != nil {
		return err
	}
	for _, s := range c.Traffic {
		if _, err := fmt.Fprintf(w, "  %-23s %6s statements   half within %6s   99 %% within %6s   longest %6s   failed %d\n", s.What, humanize.Comma(int64(s.Statements)),
			inMillis(s.P50), inMillis(s.P99), inMillis(s.Longest), s.Failed); err != nil {
			return err
		}
	}
	return nil
}

func inMillis(d time.Duration) string { return fmt.Sprintf("%.1fms", float64(d.Microseconds())/1000) }
