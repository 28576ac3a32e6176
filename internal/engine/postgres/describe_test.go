package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// The forms are those of the server's own translations.
func TestTheRowOfAFailedLoadIsFoundInEveryLanguage(t *testing.T) {
	bare, row, null, value := Description{Line: 12}, Description{Line: 12}, Description{Line: 12, Column: "the total"}, Description{Line: 12, Column: "the total", Value: "abc"}
	for where, want := range map[string]Description{
		`COPY orders, line 12`:                                                                   bare,
		`COPY orders, line 12: "1	abc	2024"`:                                                     row,
		`COPY orders, line 12: "a: ""b"", column c: "d""`:                                        row,
		`COPY orders, line 12, column the total: null input`:                                     null,
		`COPY orders, line 12, column the total`:                                                 null,
		`COPY orders, line 12, column the total: "abc"`:                                          value,
		`COPY orders, Zeile 12`:                                                                  bare,
		`COPY orders, Zeile 12: »1	abc«`:                                                         row,
		`COPY orders, Zeile 12, Spalte the total: NULL Eingabe`:                                  null,
		`COPY orders, Zeile 12, Spalte the total: »abc«`:                                         value,
		`COPY orders, línea 12, columna the total: «abc»`:                                        value,
		"COPY orders, ligne 12, colonne the total : «\u00a0abc\u00a0»":                           value,
		"COPY orders, ligne 12, colonne the total\u00a0: NULL en entrée":                         null,
		"COPY orders, ligne 12 : «\u00a01	abc\u00a0»":                                            row,
		`COPY orders, riga 12, colonna the total: "abc"`:                                         value,
		`COPY orders, ხაზი 12, სვეტი the total: "abc"`:                                           value,
		`COPY orders, строка 12, столбец the total: значение NULL`:                               null,
		`COPY orders, строка 12, столбец the total: "abc"`:                                       value,
		`COPY orders, rad 12, kolumn the total: "abc"`:                                           value,
		`COPY orders, рядок 12, стовпець the total: "abc"`:                                       value,
		`COPY orders, 行 12, 列 the total: "abc"`:                                                  value,
		`COPY orders, 行 12, 列 the total: 空的输入`:                                                   null,
		`COPY orders, 行 12: "1	abc"`:                                                             row,
		`ordersのCOPY、行 12`:                                                                       bare,
		`ordersのCOPY、行 12、列 the total: "abc"`:                                                    value,
		`ordersのCOPY、行 12、列 the total: null が入力されました`:                                            null,
		`ordersのCOPY、行 12: "1	abc"`:                                                              row,
		`orders 복사, 12번째 줄`:                                                                      bare,
		`orders 복사, 12번째 줄, the total 열: "abc"`:                                                  value,
		`orders 복사, 12번째 줄: "1	abc"`:                                                             row,
		`COPY orders, 12행, the total 열: null 입력`:                                                 null,
		"PL/pgSQL function f() line 3 at RAISE\nCOPY orders, line 12, column the total: \"abc\"": value,
		"COPY odd, \"name\", line 12, column the total: \"abc\"":                                 value,
		"COPY odd\nname, line 12, column the total: \"abc\"":                                     value,
		"COPY orders, line 12, column the total: \"two\nlines \"\"quoted\"\"\"":                  {Line: 12, Column: "the total", Value: "two\nlines \"\"quoted\"\""},
		"PL/pgSQL function f() line 3 at RAISE":                                                  {},
		"":                                                                                       {},
	} {
		require.Equal(t, want, Describe(&pgconn.PgError{Where: where}), where)
	}
}

func TestWhatTheServerNamesByItselfIsKept(t *testing.T) {
	require.Equal(t, Description{Column: "total", Constraint: "positive", Detail: "Failing row contains (1)."},
		Describe(&pgconn.PgError{ColumnName: "total", ConstraintName: "positive", Detail: "Failing row contains (1)."}))
	require.Equal(t, Description{Line: 3, Column: "total"}, Describe(&pgconn.PgError{ColumnName: "total", Where: "COPY orders, line 3: \"1\""}))
}
