package workflows

import (
	"bytes"
	"encoding/json"
)

// Encoding and decoding JSON is the same at every replay; workflowcheck cannot
// see that, since encoding/json has a cache of its own that it guards with locks.

func decode(data []byte, v any) error {
	return json.Unmarshal(data, v) //workflowcheck:ignore
}

func encode(v any) (json.RawMessage, error) {
	return json.Marshal(v) //workflowcheck:ignore
}

// decodeKnown refuses fields that v does not have.
func decodeKnown(data []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(v) //workflowcheck:ignore
}
