package view

import (
	"fmt"
	"io"
	"strings"

	"godwit/internal/task"
)

// Capacity writes how connections are used, and who runs and waits.
func Capacity(w io.Writer, st task.CapacityStatus, style Style) error {
	if len(st.Connections) == 0 {
		_, err := io.WriteString(w, "no migration has asked for a connection\n")
		return err
	}
	uses := newGrid("CONNECTION", "MIGRATIONS", "SHARDS", "WAITING").right(2, 3, 4)
	for _, u := range st.Connections {
		uses.row(u.Connection, of(u.Migrations, u.Limits.Migrations), of(u.Shards, u.Limits.Shards), rows(int64(u.Waiting)))
	}
	text := uses.String("")
	if len(st.Running)+len(st.Waiting) > 0 {
		text += "\n"
	}
	places := newGrid("ID", "PLACE", "PRIORITY", "SHARDS", "CONNECTIONS", "STARTED").right(3, 4)
	for _, p := range append(st.Running, st.Waiting...) {
		place, shards := style.State(task.Running), of(p.Shards, p.Wish)
		if p.Queue != nil {
			place, shards = placeOf(*p.Queue)+" for "+p.Queue.Connection, ""
		}
		places.row(p.ID, place, fmt.Sprint(p.Priority), shards, strings.Join(p.Connections, ", "), style.moment(p.Since))
	}
	_, err := io.WriteString(w, text+places.String(""))
	return err
}

// of is a number and the most that it may be; 0 is no limit.
func of(n, most int) string {
	if most == 0 {
		return rows(int64(n))
	}
	return fmt.Sprintf("%d of %d", n, most)
}

func placeOf(q task.QueuePlace) string { return fmt.Sprintf("%d/%d", q.Place, q.Of) }
