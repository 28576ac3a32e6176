package codec

// mode is how a value is encoded. The two commonest ways are spelled out in
// Row.Append, which saves a call for each value.
type mode uint8

const (
	call     mode = iota // by codec.encode
	verbatim             // the source's bytes, which need no escaping
	text                 // characters, escaped
)

// transform appends another form of raw to dst. size is Column.Size.
type transform func(dst, raw []byte, size int) ([]byte, error)

// show is a value for humans.
type show func(raw []byte, size int) string

// codec is how the values of a column are written, compared and shown.
type codec struct {
	mode   mode
	encode transform // source's bytes to load format, when mode is call
	// source and target give the canonical bytes; nil where the server's are
	// canonical.
	source, target         transform
	showSource, showTarget show
}

// codecs by the name that stands in a plan. A name's meaning never changes: a
// plan in a ledger may be older than this version.
var codecs = map[string]*codec{
	"integer":     {mode: verbatim, source: canonInteger, target: canonInteger, showSource: showPlain, showTarget: showPlain},
	"decimal":     {mode: verbatim, source: canonDecimal, target: canonDecimal, showSource: showPlain, showTarget: showPlain},
	"float4":      {mode: verbatim, source: canonFloat4, target: canonFloat4, showSource: showPlain, showTarget: showPlain},
	"float8":      {mode: verbatim, source: canonFloat8, target: canonFloat8, showSource: showPlain, showTarget: showPlain},
	"boolean":     {encode: appendBoolean, source: canonIntegerBoolean, showSource: showPlain, showTarget: showPlain},
	"bit":         {encode: appendBits, source: appendBits, showSource: showBits, showTarget: showPlain},
	"bit-boolean": {encode: appendBitBoolean, source: appendBitBoolean, showSource: showBits, showTarget: showPlain},

	"date":        {encode: appendDate, showSource: showPlain, showTarget: showPlain},
	"timestamp":   {encode: appendTimestamp, source: canonTimestamp, target: canonTimestamp, showSource: showPlain, showTarget: showPlain},
	"timestamptz": {encode: appendTimestampUTC, source: canonTimestamp, target: canonTimestamp, showSource: showPlain, showTarget: showPlain},
	"interval":    {mode: verbatim, source: canonTime, target: canonTime, showSource: showPlain, showTarget: showPlain},
	"time":        {encode: appendTimeOfDay, source: canonTime, target: canonTime, showSource: showPlain, showTarget: showPlain},

	"text":  {mode: text, showSource: showText, showTarget: showText},
	"char":  {mode: text, target: canonPadded, showSource: showText, showTarget: showText},
	"label": {encode: appendLabel, showSource: showText, showTarget: showText},
	"set":   {encode: appendSet, source: canonSet, target: canonArray, showSource: showText, showTarget: showText},
	"bytes": {encode: appendBytes, target: canonHex, showSource: showBytes, showTarget: showHex},

	"jsonb": {encode: appendJSONB, source: canonJSON, target: canonJSON, showSource: showText, showTarget: showText},
	"json":  {encode: appendJSON, source: canonJSON, target: canonJSON, showSource: showText, showTarget: showText},
	"uuid":  {mode: verbatim, showSource: showPlain, showTarget: showPlain},
	"inet":  {mode: verbatim, source: canonAddress, target: canonAddress, showSource: showPlain, showTarget: showPlain},
}
