package spec

import (
	"fmt"
	"slices"

	"godwit/internal/document"
	"godwit/internal/task"
)

// kinds are the kinds of migration that there are specs for.
var kinds = []slot{
	slotOf(task.Copy, func(s *Spec) **CopySpec { return &s.Copy }),
	slotOf(task.DDL, func(s *Spec) **DDLSpec { return &s.DDL }),
	slotOf(task.Backfill, func(s *Spec) **BackfillSpec { return &s.Backfill }),
	slotOf(task.Reindex, func(s *Spec) **ReindexSpec { return &s.Reindex }),
	slotOf(task.SQL, func(s *Spec) **SQLSpec { return &s.SQL }),
	slotOf(task.Pipeline, func(s *Spec) **PipelineSpec { return &s.Pipeline }),
}

// part is what a kind adds to Common.
type part interface {
	// title is the name of a migration that was not given one.
	title() string
	// check finds what is inconsistent among the part's own fields.
	check(found *document.Mistakes)
}

// slot is the place of a kind's part in a Spec.
type slot struct {
	kind task.Kind
	part func(s *Spec) part // nil when it is not set
	make func(s *Spec) part
}

func slotOf[T any, P interface {
	*T
	part
}](kind task.Kind, at func(*Spec) *P) slot {
	return slot{
		kind: kind,
		part: func(s *Spec) part {
			if p := *at(s); p != nil {
				return p
			}
			return nil
		},
		make: func(s *Spec) part {
			*at(s) = P(new(T))
			return *at(s)
		},
	}
}

// slotFor finds the slot of a kind; its error says which kinds there are.
func slotFor(kind task.Kind) (slot, error) {
	i := slices.IndexFunc(kinds, func(s slot) bool { return s.kind == kind })
	names := make([]string, len(kinds))
	for j, s := range kinds {
		names[j] = string(s.kind)
	}
	switch {
	case i >= 0:
		return kinds[i], nil
	case kind == "":
		return slot{}, fmt.Errorf("is missing; %s", document.Suggest("", names))
	default:
		return slot{}, fmt.Errorf("%q is not a kind of migration; %s", kind, document.Suggest(string(kind), names))
	}
}

// New makes a spec of a kind in which everything has its default, to be filled
// in further and then checked by Validate.
func New(kind task.Kind) (*Spec, error) {
	at, err := slotFor(kind)
	if err != nil {
		return nil, fmt.Errorf("kind: %w", err)
	}
	s := &Spec{Common: Common{Kind: kind}}
	at.make(s)
	s.fill()
	return s, nil
}

// Defaults gives every field that is zero its default, as the fields' comments
// say, and the migration a name when it has none. A zero that is meant (no time
// limit for the preflight) is set afterwards.
func (s *Spec) Defaults() {
	s.fill()
	s.entitle()
}

func (s *Spec) fill() {
	document.Fill(&s.Common)
	for _, k := range kinds {
		if p := k.part(s); p != nil {
			document.Fill(p)
		}
	}
}

// entitle gives a spec without a name the one of its kind.
func (s *Spec) entitle() {
	if at, err := slotFor(s.Kind); err == nil && s.Name == "" {
		if p := at.part(s); p != nil {
			s.Name = p.title()
		}
	}
}
