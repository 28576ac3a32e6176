package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// besideWriters is how every index is built and dropped.
const besideWriters = ", ALGORITHM=INPLACE, LOCK=NONE"

// The ends of the names that an index has while it is built to take another one's
// place, and that the other one has when it has lost it.
const (
	newIndex = "__gw_new"
	oldIndex = "__gw_old"
)

// PlanIndexes finds out what a wish comes to and changes nothing.
func (s *Server) PlanIndexes(ctx context.Context, want *engine.IndexWish) (*engine.IndexPlan, error) {
	if want.Bloat != nil {
		return nil, fault.New(task.Config, "bloat: MySQL and MariaDB do not tell how much of an index is wasted: leave it out, and name tables or indexes")
	}
	p := &indexPlan{server: s, want: want, out: &engine.IndexPlan{}, known: map[engine.Name]*indexTable{}}
	for _, step := range []func(context.Context) error{p.privileges, p.rebuilds, p.creates, p.drops, p.rehearse, p.remark} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return p.out, nil
}

type indexPlan struct {
	server *Server
	want   *engine.IndexWish
	out    *engine.IndexPlan
	known  map[engine.Name]*indexTable
	writes []func(table engine.Name) []engine.IndexStep // how the works are done, to a table of any name
}

func (p *indexPlan) note(format string, args ...any) {
	p.out.Notes = append(p.out.Notes, fmt.Sprintf(format, args...))
}

// privileges finds out whether the ledger can be used.
func (p *indexPlan) privileges(ctx context.Context) error {
	c, err := p.server.newPrivilegeCheck(ctx)
	if err != nil {
		return err
	}
	if err := c.own(ctx, false); err != nil || len(c.missing) == 0 {
		return err
	}
	return fault.New(task.Config, "user %s of database %s cannot do what is needed: %s", c.user, c.database, strings.Join(c.missing, "; "))
}

// indexTable is a table with its indexes.
type indexTable struct {
	*engine.Table
	written map[string]writtenIndex
	sizes   map[string]int64
}

// writtenIndex is an index as the server writes it into a CREATE TABLE.
type writtenIndex struct{ kind, rest string }

// add writes the action that makes the index under a name.
func (w writtenIndex) add(name string) string {
	return "ADD " + w.kind + " " + Quote(name) + " " + w.rest
}

var indexLine = regexp.MustCompile("(?m)^ +((?:UNIQUE |FULLTEXT |SPATIAL |VECTOR )?KEY) `((?:[^`]|``)+)` (.*?),?$")

func (p *indexPlan) table(ctx context.Context, name engine.Name) (*indexTable, error) {
	if t := p.known[name]; t != nil {
		return t, nil
	}
	if err := p.server.Transactional(ctx, name); err != nil {
		return nil, err
	}
	described, err := p.server.Table(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := p.server.mayAlter(ctx, described); err != nil {
		return nil, err
	}
	text, err := p.server.Definition(ctx, name)
	if err != nil {
		return nil, err
	}
	t := &indexTable{Table: described, written: map[string]writtenIndex{}}
	for _, m := range indexLine.FindAllStringSubmatch(text, -1) {
		t.written[strings.ReplaceAll(m[2], "``", "`")] = writtenIndex{kind: m[1], rest: m[3]}
	}
	p.known[name] = t
	t.sizes, err = p.server.indexSizes(ctx, t.Table)
	return t, err
}

// indexSizes are the sizes of a table's indexes; where the user may not see them,
// they have equal parts of what all of them have.
func (s *Server) indexSizes(ctx context.Context, t *engine.Table) (map[string]int64, error) {
	sizes := map[string]int64{}
	err := collect(ctx, s.db, func(rows *sql.Rows) error {
		var name string
		var bytes int64
		err := rows.Scan(&name, &bytes)
		sizes[name] += bytes
		return err
	}, "SELECT index_name, stat_value * @@innodb_page_size FROM mysql.innodb_index_stats WHERE database_name = ? AND (table_name = ? OR table_name LIKE CONCAT(?, '#p#%')) AND stat_name = 'size'",
		t.Name.Schema, t.Name.Table, t.Name.Table)
	if err == nil || !isDenied(err) {
		return sizes, err
	}
	var all int64
	err = s.db.QueryRowContext(ctx, "SELECT COALESCE(INDEX_LENGTH, 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", t.Name.Schema, t.Name.Table).Scan(&all)
	for _, index := range t.Indexes {
		sizes[index.Name] = all / int64(max(1, len(t.Indexes)-1))
	}
	return sizes, err
}

// tables are those that the wish is about.
func (p *indexPlan) tables(ctx context.Context) ([]engine.Name, error) {
	if p.want.Table.Table != "" {
		return []engine.Name{p.want.Table}, nil
	}
	all, err := p.server.Tables(ctx, p.want.Schema)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(n engine.Name) bool { return strings.HasPrefix(n.Table, "_godwit_") })
	if len(all) == 0 {
		return nil, fault.New(task.Config, "there is no table in database %s, or the user may see none", p.want.Schema)
	}
	return all, nil
}

// rebuilds are the indexes that are there and are built anew.
func (p *indexPlan) rebuilds(ctx context.Context) error {
	w := p.want
	if len(w.Indexes) == 0 && len(w.Create)+len(w.Drop) > 0 {
		return nil
	}
	names, err := p.tables(ctx)
	if err != nil {
		return err
	}
	var found []engine.IndexWork
	missing := slices.Clone(w.Indexes)
	for _, name := range names {
		t, err := p.table(ctx, name)
		if err != nil {
			if w.Table.Table == "" && fault.Of(err) != nil {
				p.note("%s is left out: %v", name, err)
				continue
			}
			return err
		}
		for _, index := range t.Indexes {
			named := slices.Contains(w.Indexes, index.Name)
			missing = slices.DeleteFunc(missing, func(n string) bool { return n == index.Name })
			if len(w.Indexes) > 0 && !named {
				continue
			}
			if work := p.rebuild(t, index, named); work != nil {
				found = append(found, *work)
			}
		}
	}
	if len(missing) > 0 {
		return p.unknown(missing[0])
	}
	slices.SortStableFunc(found, func(a, b engine.IndexWork) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, work := range found {
		t := p.known[work.Table]
		p.add(work, func(table engine.Name) []engine.IndexStep { return p.server.rebuildSteps(t, work.Index, table) })
	}
	if len(found) == 0 {
		p.note("there is no index to be rebuilt")
	}
	return nil
}

func (p *indexPlan) unknown(name string) error {
	where := "database " + p.want.Schema
	there := ""
	if t := p.known[p.want.Table]; t != nil {
		var names []string
		for _, index := range t.Indexes {
			names = append(names, index.Name)
		}
		where, there = t.Name.String(), "; there are "+strings.Join(names, ", ")
	}
	return fault.About(p.want.Table.String(), task.Config, "there is no index %s of %s%s", name, where, there)
}

// rebuild is the work of one index; nil where it is left out.
func (p *indexPlan) rebuild(t *indexTable, index engine.Index, named bool) *engine.IndexWork {
	switch {
	case strings.HasSuffix(index.Name, newIndex), strings.HasSuffix(index.Name, oldIndex):
		return nil // what a rebuild has left
	case index.Primary && !named:
		p.note("the primary key of %s is left out, since it is the table itself: `index: PRIMARY` writes that anew, with all its indexes", t.Name)
		return nil
	case index.Method != "btree" && !named:
		p.note("%s of %s is left out: the server builds a %s index only with the writers kept out", index.Name, t.Name, index.Method)
		return nil
	}
	work := t.work(engine.RebuildIndex, index)
	return &work
}

// work describes what is done about an index that there is.
func (t *indexTable) work(action engine.IndexAction, index engine.Index) engine.IndexWork {
	w := engine.IndexWork{Action: action, Table: t.Name, Index: index.Name, Method: index.Method, Rows: max(1, t.Rows), Bytes: t.sizes[index.Name],
		Shape: indexShape(index), Unique: index.Unique, Keys: indexKeys(index)}
	if index.Primary {
		w.Definition = "ALTER TABLE " + QuoteName(t.Name) + " ADD PRIMARY KEY (" + strings.Join(w.Keys, ", ") + ")"
		w.Bytes = max(w.Bytes, t.Bytes)
		return w
	}
	w.Definition = "ALTER TABLE " + QuoteName(t.Name) + " " + t.written[index.Name].add(index.Name) + besideWriters
	return w
}

// indexShape is what an index is, whatever its name.
func indexShape(index engine.Index) string {
	return fmt.Sprintf("unique %t, %s %v, invisible %t, comment %q", index.Unique, index.Method, index.Parts, index.Invisible, index.Comment)
}

// indexKeys are the parts of an index, as SQL.
func indexKeys(index engine.Index) (keys []string) {
	for _, part := range index.Parts {
		switch {
		case part.Expression != "":
			keys = append(keys, "("+part.Expression+")")
		case part.Prefix > 0:
			keys = append(keys, fmt.Sprintf("LEFT(%s, %d)", Quote(part.Column), part.Prefix))
		default:
			keys = append(keys, Quote(part.Column))
		}
	}
	return keys
}

// besideIndex is the name of an index while it is built to take another one's place.
func besideIndex(name string) string { return Beside(engine.Name{Table: name}, newIndex).Table }

// formerIndex is the name of an index that has lost its place to another one.
func formerIndex(name string) string { return Beside(engine.Name{Table: name}, oldIndex).Table }

// rebuildSteps build an index beside the one of its name, which it then takes the
// place of. A primary key is written anew with its table.
//
// MariaDB takes an index for the one that it was when both have the same form and
// the name is given on in one statement: it would drop the new one. So there, names
// change one after the other, with the table locked meanwhile.
func (s *Server) rebuildSteps(t *indexTable, index string, table engine.Name) []engine.IndexStep {
	alter := "ALTER TABLE " + QuoteName(table) + " "
	if index == primaryName {
		return []engine.IndexStep{{SQL: []string{alter + "FORCE" + besideWriters}, Builds: true, Locks: true}}
	}
	name, beside, old := Quote(index), Quote(besideIndex(index)), Quote(formerIndex(index))
	build := engine.IndexStep{SQL: []string{alter + t.written[index].add(besideIndex(index)) + besideWriters}, Builds: true, Locks: true}
	if s.known() == mysqlFlavor {
		return []engine.IndexStep{build, {SQL: []string{alter + "DROP INDEX " + name + ", RENAME INDEX " + beside + " TO " + name + besideWriters}, Locks: true}}
	}
	return []engine.IndexStep{build, {SQL: []string{"LOCK TABLES " + QuoteName(table) + " WRITE",
		alter + "RENAME INDEX IF EXISTS " + name + " TO " + old + ", ALGORITHM=INSTANT",
		alter + "RENAME INDEX IF EXISTS " + beside + " TO " + name + ", ALGORITHM=INSTANT", "UNLOCK TABLES"}, Locks: true},
		{SQL: []string{alter + "DROP INDEX IF EXISTS " + old + besideWriters}, Locks: true}}
}

func (p *indexPlan) add(w engine.IndexWork, write func(table engine.Name) []engine.IndexStep) {
	w.Steps = write(w.Table)
	p.out.Works, p.writes = append(p.out.Works, w), append(p.writes, write)
}

// drops are the indexes that are to go.
func (p *indexPlan) drops(ctx context.Context) error {
	if len(p.want.Drop) == 0 {
		return nil
	}
	if p.want.Table.Table == "" {
		return fault.New(task.Config, "drop: of which table? Indexes of different tables may have the same name: give table")
	}
	t, err := p.table(ctx, p.want.Table)
	if err != nil {
		return err
	}
	for _, name := range p.want.Drop {
		at := slices.IndexFunc(t.Indexes, func(i engine.Index) bool { return i.Name == name })
		switch {
		case at < 0:
			return p.unknown(name)
		case t.Indexes[at].Primary:
			return fault.About(t.Name.String(), task.Config, "drop: %s is the table itself, and not to be dropped", name)
		}
		p.add(t.work(engine.DropIndex, t.Indexes[at]), func(table engine.Name) []engine.IndexStep {
			return []engine.IndexStep{{SQL: []string{"ALTER TABLE " + QuoteName(table) + " DROP INDEX " + Quote(name) + besideWriters}, Locks: true}}
		})
	}
	return nil
}
