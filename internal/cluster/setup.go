package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"godwit/internal/task"
)

// DefaultRetention is how long a closed migration stays visible, at the least.
const DefaultRetention = 30 * 24 * time.Hour

// Attributes are the search attributes of migrations and their types.
var Attributes = map[string]enumspb.IndexedValueType{
	task.StateAttribute:     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	task.KindAttribute:      enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	task.PhaseAttribute:     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	task.TargetAttribute:    enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	task.PercentAttribute:   enumspb.INDEXED_VALUE_TYPE_DOUBLE,
	task.AttentionAttribute: enumspb.INDEXED_VALUE_TYPE_BOOL,
}

// Report tells what Setup found and changed.
type Report struct {
	Namespace string   `json:"namespace"`
	Added     []string `json:"added"`    // search attributes registered now
	Existing  []string `json:"existing"` // search attributes that were there
	// Retention of closed workflows, before and after; 0 when it could not be read.
	RetentionBefore time.Duration `json:"retention_before"`
	Retention       time.Duration `json:"retention"`
	// Warnings name what could not be done and does no harm for now.
	Warnings []string `json:"warnings"`
}

// Setup prepares a namespace for migrations: it registers their search
// attributes and raises the retention of closed workflows to at least the
// given one. It may be called any number of times, by several processes at
// once. A search attribute of the same name but another type is an error,
// since every migration would hang on it; a retention that may not be changed
// is only a warning.
func Setup(ctx context.Context, c client.Client, namespace string, retention time.Duration) (Report, error) {
	report := Report{Namespace: namespace, Added: []string{}, Existing: []string{}, Warnings: []string{}}
	if err := setUpAttributes(ctx, c, &report); err != nil {
		return report, err
	}
	return report, setUpRetention(ctx, c, retention, &report)
}

// setUpAttributes lists first: the server skips a name that exists without a
// word, also when its type is another one.
func setUpAttributes(ctx context.Context, c client.Client, report *Report) error {
	known, err := listAttributes(ctx, c, report.Namespace)
	if err != nil {
		return err
	}
	missing := map[string]enumspb.IndexedValueType{}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(Attributes)) {
		switch kind, found := known[name]; {
		case !found:
			missing[name] = Attributes[name]
			report.Added = append(report.Added, name)
		case kind != Attributes[name]:
			wrong = append(wrong, fmt.Sprintf("%s is %s, not %s", name, kind, Attributes[name]))
		default:
			report.Existing = append(report.Existing, name)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("search attributes of namespace %q have the wrong type: %s; remove them (temporal operator search-attribute remove --name …) and run `godwit setup` again",
			report.Namespace, strings.Join(wrong, ", "))
	}
	if len(missing) == 0 {
		return nil
	}
	request := &operatorservice.AddSearchAttributesRequest{Namespace: report.Namespace, SearchAttributes: missing}
	if _, err := c.OperatorService().AddSearchAttributes(ctx, request); err != nil {
		var exists *serviceerror.AlreadyExists
		if !errors.As(err, &exists) {
			return fmt.Errorf("cannot register the search attributes %s in namespace %q: %w", strings.Join(report.Added, ", "), report.Namespace, err)
		}
	}
	return awaitAttributes(ctx, c, report.Namespace)
}

func listAttributes(ctx context.Context, c client.Client, namespace string) (map[string]enumspb.IndexedValueType, error) {
	response, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("cannot list the search attributes of namespace %q: %w", namespace, err)
	}
	return response.GetCustomAttributes(), nil
}

// awaitAttributes waits until the cluster shows what was registered: with some
// stores that takes seconds, and a migration started before would be refused.
func awaitAttributes(ctx context.Context, c client.Client, namespace string) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		known, err := listAttributes(ctx, c, namespace)
		if err != nil {
			return err
		}
		complete := true
		for name := range Attributes {
			_, found := known[name]
			complete = complete && found
		}
		if complete {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("namespace %q does not show the new search attributes after 30s; run `godwit setup` again", namespace)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
