package workflows

import (
	"encoding/json"
	"fmt"
	"time"

	"godwit/internal/spec"
)

// settings is what the control flow reads of a spec: what every kind accepts,
// and the few fields of a kind's own part that mean the same in every kind.
// They are read from the spec's flat form, so that a new kind needs nothing here.
type settings struct {
	spec.Common
	raw json.RawMessage
	own struct {
		Source   string `json:"source"` // names of connections, which kind uses which
		Target   string `json:"target"`
		Database string `json:"database"`
		Shards   struct {
			Parallel int `json:"parallel"`
		} `json:"shards"`
		Cutover struct {
			Mode    spec.CutoverMode `json:"mode"`
			Between spec.Window      `json:"between"`
		} `json:"cutover"`
	}
}

// defaultParallel is how many shards run at once when the spec does not say.
const defaultParallel = 4

func readSettings(raw json.RawMessage) (settings, error) {
	out := settings{raw: raw}
	if err := decode(raw, &out.Common); err != nil {
		return settings{}, fmt.Errorf("the spec cannot be read: %w", err)
	}
	if err := decode(raw, &out.own); err != nil {
		return settings{}, fmt.Errorf("the spec cannot be read: %w", err)
	}
	return out, nil
}

// Common reads what every kind of migration has.
func (in *MigrationInput) Common() (spec.Common, error) {
	s, err := readSettings(in.Spec)
	return s.Common, err
}

func (s *settings) parallel() int {
	switch {
	case s.Throttle.Parallel > 0:
		return s.Throttle.Parallel
	case s.own.Shards.Parallel > 0:
		return s.own.Shards.Parallel
	}
	return defaultParallel
}

func (s *settings) manualCutover() bool { return s.own.Cutover.Mode == spec.ManualCutover }

func (s *settings) verifies() bool { return s.Verify.Mode != spec.NoVerify }

func (s *settings) attempts() int { return max(1, s.Retry.Attempts) }

func (s *settings) rounds() int {
	if s.Retry.Rounds == nil {
		return 0
	}
	return *s.Retry.Rounds
}

// roundDelay is the wait before a round of the retry queue, counted from 1.
func (s *settings) roundDelay(round int) time.Duration {
	return backOff(s.Retry.Delay.Std(), s.Retry.MaxDelay.Std(), round)
}

// callDelay is the wait before a try of a phase's activity; the first failures
// are mostly lost connections, which come back sooner than a shard's cause.
func (s *settings) callDelay(failures int) time.Duration {
	return backOff(firstCallDelay, s.Retry.MaxDelay.Std(), failures)
}

// backOff doubles a delay with every failure but the first, up to a limit.
func backOff(first, limit time.Duration, failures int) time.Duration {
	delay := max(first, minDelay)
	limit = max(limit, minDelay)
	for i := 1; i < failures && delay < limit; i++ {
		delay *= 2
	}
	return min(delay, limit)
}
