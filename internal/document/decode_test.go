package document

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type house struct {
	Rooms  map[string]room `json:"rooms"`
	Lights bool            `json:"lights" jsonschema:"default=true"`
	Colour *colour         `json:"colour,omitempty" jsonschema:"default=red"`
	Cellar *room           `json:"cellar,omitempty"`
}

type room struct {
	Windows int    `json:"windows" jsonschema:"default=1,maximum=9"`
	Use     string `json:"use,omitempty" jsonschema:"required"`
	Secret  string `json:"-"`
}

type colour string

func (colour) Choices() []string { return []string{"red", "green"} }

func read(t *testing.T, text string) *Node {
	t.Helper()
	root, err := ReadYAML("h.yaml", []byte(text))
	require.NoError(t, err)
	return root
}

func TestMapsBooleansAndPointersAreRead(t *testing.T) {
	var h house
	root := read(t, "rooms:\n  kitchen: {windows: 2, use: cooking}\n  bath: {use: ''}\nlights: true\ncolour: green\ncellar: {use: wine}\n")
	require.Empty(t, root.Decode(&h))
	require.Equal(t, house{
		Rooms:  map[string]room{"kitchen": {Windows: 2, Use: "cooking"}, "bath": {}},
		Lights: true, Colour: new(colour("green")), Cellar: &room{Windows: 1, Use: "wine"},
	}, h)
	require.Equal(t, []string{"kitchen", "bath"}, root.Field("rooms").Fields())
	require.Equal(t, "h.yaml:3:9", root.Field("rooms").Field("bath").Position())
}

func TestMistakesInMapsAreNamedByTheirPath(t *testing.T) {
	var h house
	root := read(t, "rooms:\n  kitchen: {windows: many}\n  kitchen: {}\nlights: on\nSecret: x\n")
	require.EqualError(t, root.Decode(&h).Sorted(), "h.yaml:2:22: field \"rooms.kitchen.windows\": expected a number, got \"many\"\n"+
		"h.yaml:3:3: field \"rooms.kitchen\": given twice\n"+
		"h.yaml:4:9: field \"lights\": expected true or false, got \"on\"\n"+
		`h.yaml:5:1: field "Secret": unknown field; there are rooms, lights, colour, cellar`)
}

func TestDefaultsReachPointersAndStructsButNotWhatIsSet(t *testing.T) {
	h := house{Colour: new(colour("green"))}
	Fill(&h)
	require.Equal(t, house{Lights: true, Colour: new(colour("green"))}, h)
	r := room{}
	Fill(&r)
	require.Equal(t, 1, r.Windows)
}

func TestRulesAreCheckedWithoutADocumentToo(t *testing.T) {
	h := house{Colour: new(colour("blue")), Cellar: &room{Windows: 10}}
	require.EqualError(t, Check(&h, nil), "field \"colour\": \"blue\" is not a valid choice; there are red, green\n"+
		"field \"cellar.windows\": 10 is too large: at most 9\n"+
		`field "cellar.use": is missing`)
}

func TestAMistakeWithoutAPlaceOfItsOwnIsPutAtTheNearestOne(t *testing.T) {
	root := read(t, "rooms:\n  kitchen:\n    use: cooking\n")
	var found Mistakes
	found.Add("rooms.kitchen.use", "deep")
	found.Add("rooms.kitchen.windows[3].glass", "missing")
	found.Add("", "whole")
	require.EqualError(t, root.Locate(found), "h.yaml:3:10: field \"rooms.kitchen.use\": deep\n"+
		"h.yaml:3:5: field \"rooms.kitchen.windows[3].glass\": missing\n"+
		"h.yaml:1:1: whole")
}

func TestJSONThatIsNoneIsAMistake(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1`:      "not valid JSON: ",
		`{"a": 1} {}`:  "not valid JSON: something follows the object",
		`{"a" 1}`:      "not valid JSON: ",
		`[1, 2`:        "not valid JSON: ",
		`null`:         `expected fields like "name: value", got nothing`,
		`true`:         `expected fields like "name: value", got true`,
		``:             "not valid JSON: EOF",
		`{"a": [1, 2]`: "not valid JSON: ",
	} {
		_, err := ReadJSON([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestTheNearestNameIsOneThatIsReallyNear(t *testing.T) {
	valid := []string{"tables", "target", "timeouts", "to", "source_after"}
	for name, want := range map[string]string{
		"tabels": "tables", "Tables": "tables", "table": "tables", "timeout": "timeouts", "source-after": "source_after",
		"sourceafter": "source_after", "x": "", "tim": "timeouts", "ta": "to", "tar": "target", "database": "", "": "", "columns": "",
	} {
		require.Equal(t, want, Nearest(name, valid), name)
	}
	require.Equal(t, "there are tables, target", Suggest("nothing", valid[:2]))
	require.Equal(t, "there is only tables", Suggest("nothing", valid[:1]))
	require.True(t, strings.HasPrefix(Suggest("tabels", valid), "did you mean"))
}
