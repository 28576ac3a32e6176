package workflows

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// pipelinePlan is what the control flow reads of a pipeline's spec. It reads what
// it needs and no more, so that a run replays although a later version reads specs more strictly.
type pipelinePlan struct {
	settings
	Steps []pipelineStep
}

// pipelineStep is a step as the control flow knows it. What its migration is told is
// not looked into.
type pipelineStep struct {
	Name     string          `json:"name"`
	Copy     json.RawMessage `json:"copy"`
	DDL      json.RawMessage `json:"ddl"`
	Backfill json.RawMessage `json:"backfill"`
	Reindex  json.RawMessage `json:"reindex"`
	SQL      json.RawMessage `json:"sql"`
	Wait     *struct {
		spec.Condition
		Every   spec.Duration `json:"every"`
		Between spec.Window   `json:"between"`
	} `json:"wait"`
	HTTP      *spec.HTTPStep    `json:"http"`
	Group     []pipelineStep    `json:"group"`
	Approve   bool              `json:"approve"`
	When      *spec.Condition   `json:"when"`
	Needs     names             `json:"needs"`
	Timeout   spec.Duration     `json:"timeout"`
	Retries   *int              `json:"retries"`
	Backoff   spec.Duration     `json:"backoff"`
	OnFailure spec.StepReaction `json:"on_failure"`
	OnTimeout spec.StepReaction `json:"on_timeout"`
}

// names are one name or several.
type names []string

func (n *names) UnmarshalJSON(data []byte) error {
	var one string
	if decode(data, &one) == nil {
		*n = names{one}
		return nil
	}
	return decode(data, (*[]string)(n))
}

func readPipeline(raw json.RawMessage) (pipelinePlan, error) {
	common, err := readSettings(raw)
	if err != nil {
		return pipelinePlan{}, err
	}
	plan := pipelinePlan{settings: common}
	var own struct {
		Steps []pipelineStep `json:"steps"`
	}
	if err := decode(raw, &own); err != nil {
		return pipelinePlan{}, fmt.Errorf("the spec's steps cannot be read: %w", err)
	}
	plan.Steps = own.Steps
	return plan, nil
}

// each calls f with every step, a group before its members.
func (p *pipelinePlan) each(f func(s *pipelineStep, group string)) {
	for i := range p.Steps {
		s := &p.Steps[i]
		f(s, "")
		for j := range s.Group {
			f(&s.Group[j], s.Name)
		}
	}
}

// part is the spec of the step's migration without what every kind has; nil where
// the step is none.
func (s *pipelineStep) part() (task.Kind, json.RawMessage) {
	switch {
	case s.Copy != nil:
		return task.Copy, s.Copy
	case s.DDL != nil:
		return task.DDL, s.DDL
	case s.Backfill != nil:
		return task.Backfill, s.Backfill
	case s.Reindex != nil:
		return task.Reindex, s.Reindex
	case s.SQL != nil:
		return task.SQL, s.SQL
	}
	return "", nil
}

// kind is what the step does, in one word.
func (s *pipelineStep) kind() string {
	kind, _ := s.part()
	switch {
	case kind != "":
		return string(kind)
	case s.Wait != nil:
		return "wait"
	case s.HTTP != nil:
		return "http"
	case s.Group != nil:
		return "group"
	}
	return "approve"
}

// database is the connection that the step writes to, or asks.
func (s *pipelineStep) database() string {
	_, part := s.part()
	var own struct{ Target, Database string }
	if part != nil && decode(part, &own) == nil {
		return cmp.Or(own.Target, own.Database)
	}
	if s.Wait != nil {
		return s.Wait.Database
	}
	return ""
}

// migration is the whole spec of the step's migration. What is done about a failure
// is the pipeline's to say.
func (p *pipelinePlan) migration(s *pipelineStep) (json.RawMessage, error) {
	kind, part := s.part()
	var whole map[string]json.RawMessage
	if err := decode(part, &whole); err != nil {
		return nil, fmt.Errorf("the spec of step %s cannot be read: %w", s.Name, err)
	}
	for _, own := range [][2]string{
		{"kind", string(kind)}, {"name", oneLine(p.Name, mostSummary-60) + ": " + s.Name}, {"on_failure", string(spec.Hold)}, {"on_timeout", string(spec.TimeoutFail)},
	} {
		whole[own[0]], _ = encode(own[1]) // a text
	}
	if whole["priority"] == nil && p.Priority > 0 {
		whole["priority"], _ = encode(p.Priority)
	}
	return encode(whole)
}

// defaultRetries is how often a step is tried again whose reaction is to retry.
const defaultRetries = 3

// reactions are what is done about a failure of a step, and about its timeout.
func (p *pipelinePlan) reactions(s *pipelineStep) (failure, timeout spec.StepReaction) {
	failure, timeout = s.OnFailure, s.OnTimeout
	if failure == "" {
		failure = spec.StepReaction(p.OnFailure)
	}
	if timeout == "" {
		timeout = spec.StepReaction(p.OnTimeout)
		if p.OnTimeout == spec.TimeoutFail || p.OnTimeout == "" {
			timeout = spec.StepHold
		}
	}
	return cmp.Or(failure, spec.StepHold), timeout
}

// overdue is what is done when the limit of the whole has passed.
func (p *pipelinePlan) overdue() spec.StepReaction {
	if p.OnTimeout == spec.TimeoutRollback {
		return spec.StepRollback
	}
	return spec.StepHold
}

// retries is how often the step is tried again.
func (p *pipelinePlan) retries(s *pipelineStep) int {
	failure, timeout := p.reactions(s)
	switch {
	case s.Retries != nil:
		return *s.Retries
	case failure == spec.StepRetry, timeout == spec.StepRetry:
		return defaultRetries
	}
	return 0
}

// delay is the wait before another try, after so many that have failed.
func (p *pipelinePlan) delay(s *pipelineStep, failed int) time.Duration {
	first := cmp.Or(s.Backoff, p.Retry.Delay)
	return backOff(first.Std(), max(p.Retry.MaxDelay, first).Std(), failed)
}
