package spec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestASpecMadeFromFlagsIsCheckedAsAFileIs(t *testing.T) {
	s, err := New(task.Copy)
	require.NoError(t, err)
	s.Copy.Source, s.Copy.Target = "legacy", "warehouse"
	s.Defaults()
	require.NoError(t, s.Validate())
	parsed, err := Parse("short.yaml", readExample(t, "short.yaml"))
	require.NoError(t, err)
	require.Equal(t, parsed, s)

	s.Priority, s.Verify.Mode, s.Copy.Tables = 7, "cout", []TableSpec{{Name: "a*", To: "b"}, {}}
	require.EqualError(t, s.Validate(), "field \"priority\": 7 is out of range: from 1 to 5\n"+
		"field \"verify.mode\": \"cout\" is not a valid choice; did you mean \"count\"?\n"+
		"field \"tables[1].name\": is missing\n"+
		`field "tables[0].to": "b" cannot be the target of the pattern "a*": name one table`)
}

func TestDefaultsFillOnlyWhatIsNotSet(t *testing.T) {
	s := &Spec{
		Common: Common{Kind: task.Copy, Priority: 1, Retry: Retry{Rounds: new(0)}},
		Copy:   &CopySpec{Source: "a", Target: "b", Shards: Shards{Parallel: 9}},
	}
	s.Defaults()
	require.NoError(t, s.Validate())
	require.Equal(t, 1, s.Priority)
	require.Equal(t, 0, *s.Retry.Rounds)
	require.Equal(t, 3, s.Retry.Attempts)
	require.Equal(t, 9, s.Copy.Shards.Parallel)
	require.Equal(t, "a → b", s.Name)
}

func TestASpecWithoutDefaultsDoesNotPass(t *testing.T) {
	s := &Spec{Common: Common{Kind: task.Copy}, Copy: &CopySpec{Source: "a", Target: "b"}}
	require.ErrorContains(t, s.Validate(), `field "verify.mode": "" is not a valid choice`)
}

func TestASpecNeedsExactlyThePartOfItsKind(t *testing.T) {
	s := &Spec{Common: Common{Kind: task.Copy}}
	s.Defaults()
	require.EqualError(t, s.Validate(), "a spec of kind copy without its part")
	_, err := New("pipelines")
	require.EqualError(t, err, `kind: "pipelines" is not a kind of migration; did you mean "pipeline"?`)
}

func TestThereIsASpecForEveryKindThatThisVersionRuns(t *testing.T) {
	var registered []task.Kind
	for _, k := range kinds {
		registered = append(registered, k.kind)
	}
	require.ElementsMatch(t, task.Kinds, registered)
}

func TestAnEntryCoversTheTablesItNames(t *testing.T) {
	for _, c := range []struct {
		entry, schema, table string
		want                 bool
	}{
		{"orders", "shop", "orders", true},
		{"orders", "other", "orders", false},
		{"shop.orders", "shop", "orders", true},
		{"shop.orders", "shop", "Orders", false},
		{"other.orders", "shop", "orders", false},
		{"shop.*", "shop", "anything at all", true},
		{"*", "shop", "orders", true},
		{"*", "other", "orders", false},
		{"*.*", "other", "orders", true},
		{"shop.tmp_*", "shop", "tmp_", true},
		{"shop.tmp_*", "shop", "atmp_1", false},
		{"!shop.tmp_*", "shop", "tmp_1", true},
		{"*_old", "shop", "orders_old", true},
		{"*_old", "shop", "orders_old2", false},
		{"a*b*c", "shop", "aXXbYYc", true},
		{"a*b*c", "shop", "abc", true},
		{"a*b*c", "shop", "acb", false},
		{"a*a", "shop", "a", false},
		{"*aa*", "shop", "a", false},
		{"a.b.c", "a", "b.c", true},
	} {
		require.Equal(t, c.want, TableSpec{Name: c.entry}.Covers(c.schema, c.table, "shop"), "%+v", c)
	}
}

func TestPatternsOverlapWhenSomeNameIsCoveredByBoth(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "", true}, {"a", "a", true}, {"a", "b", false}, {"a", "", false}, {"*", "", true}, {"*", "abc", true},
		{"a*", "*b", true}, {"a*", "b*", false}, {"*a", "*b", false}, {"tmp_*", "tmp_1", true}, {"tmp_*", "tmp", false},
		{"a*c", "*b*", true}, {"a*", "a", true}, {"a*b*c", "abbc", true}, {"a*b*c", "acb", false},
	} {
		require.Equal(t, c.want, overlap(c.a, c.b), "%q %q", c.a, c.b)
		require.Equal(t, c.want, overlap(c.b, c.a), "%q %q", c.b, c.a)
	}
}
