package postgres

import "bytes"

// splitRow takes a row of COPY's text format apart, in place: afterwards row's
// slices are the columns' bytes in data, nil for NULL. It reports whether there
// are as many columns as row has.
func splitRow(data []byte, row [][]byte) bool {
	data = bytes.TrimSuffix(data, []byte{'\n'})
	escaped := bytes.IndexByte(data, '\\') >= 0
	for i := range row {
		field := data
		if i < len(row)-1 {
			tab := bytes.IndexByte(data, '\t')
			if tab < 0 {
				return false
			}
			field, data = data[:tab:tab], data[tab+1:]
		} else if bytes.IndexByte(data, '\t') >= 0 {
			return false
		}
		if escaped {
			field = unescape(field)
		}
		row[i] = field
	}
	return true
}

// unescape undoes the backslash escapes of a column, in place. A column that
// is \N is NULL; the text \N arrives as \\N.
func unescape(field []byte) []byte {
	at := bytes.IndexByte(field, '\\')
	if at < 0 {
		return field
	}
	if len(field) == 2 && field[1] == 'N' {
		return nil
	}
	to := at
	for ; at < len(field); at++ {
		c := field[at]
		if c == '\\' && at+1 < len(field) {
			at++
			c = unescaped(field[at])
		}
		field[to] = c
		to++
	}
	return field[:to]
}

// unescaped is the character that a backslash and c stand for.
func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'v':
		return '\v'
	}
	return c
}
