package db

import (
	"fmt"
	"slices"
	"strings"
)

// notCopied are the tables that belong to a store and not to the instance, and
// those of the search, which servers make again. So do they store the files of
// the agents again: a copy could be older than the files.
var notCopied = []string{
	"goose_db_version", "commits", "sequences", "servers", "leader", "agent_files",
	"search", "search_parts", "search_lines", "open_search", "open_texts", "open_times",
}

// copyTable is a table that both databases have.
type copyTable struct {
	name    string
	columns []string // of both, quoted
	order   string   // of the rows of the source, as a clause, or ""
}

// quoted is the table in a statement, with the rows that are copied.
func (t *copyTable) quoted() string {
	q := quoteName(t.name)
	if t.name == "settings" { // how far the search has come
		q += " WHERE key NOT IN ('" + searchPlace + "', '" + openPlace + "')"
	}
	return q
}

func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

var (
	tableNames = storeSQL{
		"SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name",
		"SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = CAST(current_schema() AS regnamespace) ORDER BY relname",
	}
	// An identity column has what the rowid is in SQLite.
	columnNames = storeSQL{
		"SELECT name FROM pragma_table_info(?) ORDER BY name",
		"SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped " +
			"AND attidentity = '' ORDER BY attname",
	}
	referencedTables = storeSQL{
		`SELECT DISTINCT "table" FROM pragma_foreign_key_list(?) ORDER BY 1`,
		"SELECT DISTINCT c.relname FROM pg_constraint k JOIN pg_class c ON c.oid = k.confrelid " +
			"WHERE k.contype = 'f' AND k.conrelid = to_regclass(?) ORDER BY 1",
	}
	// Tables without rowid are read in the order of their primary key.
	orderColumns = storeSQL{
		"SELECT 'rowid' FROM pragma_table_list WHERE schema = 'main' AND name = ? AND wr = 0",
		"SELECT quote_ident(a.attname) FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary " +
			"WHERE a.attrelid = to_regclass(?) AND (a.attidentity <> '' OR a.attnum = ANY (i.indkey)) " +
			"ORDER BY array_position(CAST(i.indkey AS int2[]), a.attnum)",
	}
)

// names returns the texts that a query finds.
func (s *copySide) names(q storeSQL, args ...any) ([]string, error) {
	return collect(s.query(q.forStore(&s.Rx), args...), column[string])
}

// tables returns the names of the tables to copy.
func (s *copySide) tables() ([]string, error) {
	list, err := s.names(tableNames)
	return slices.DeleteFunc(list, func(name string) bool { return slices.Contains(notCopied, name) }), err
}

// matchTables returns the tables of two databases, each after those that it
// references. Error: the databases differ in a table or a column.
func matchTables(src, dst *copySide) (list []copyTable, err error) {
	names, err := commonNames("the tables", src, dst, (*copySide).tables)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var add func(name string) error
	add = func(name string) error {
		if seen[name] {
			return nil
		}
		seen[name] = true
		needs, err := dst.names(referencedTables, name)
		if err != nil {
			return err
		}
		for _, n := range needs {
			if err := add(n); err != nil {
				return err
			}
		}
		t, err := matchTable(src, dst, name)
		list = append(list, t)
		return err
	}
	for _, name := range names {
		if err := add(name); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func matchTable(src, dst *copySide, name string) (t copyTable, err error) {
	t.name = name
	t.columns, err = commonNames("the columns of table "+name, src, dst, func(s *copySide) ([]string, error) {
		return s.names(columnNames, name)
	})
	if err != nil {
		return t, err
	}
	for i, c := range t.columns {
		t.columns[i] = quoteName(c)
	}
	order, err := src.names(orderColumns, name)
	if len(order) > 0 {
		t.order = " ORDER BY " + strings.Join(order, ", ")
	}
	return t, err
}

// commonNames returns the names that both sides have to agree on.
func commonNames(what string, src, dst *copySide, of func(*copySide) ([]string, error)) ([]string, error) {
	a, err := of(src)
	if err != nil {
		return nil, err
	}
	b, err := of(dst)
	if err != nil {
		return nil, err
	}
	for _, name := range append(a, b...) {
		if !slices.Contains(a, name) || !slices.Contains(b, name) {
			return nil, fmt.Errorf("%s differ: only one of the two databases has %s", what, name)
		}
	}
	return a, nil
}

var triggersOfSQLite = storeSQL{sqlite: "SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid"}

// dropTriggers takes the triggers off the target: what they would do and refuse
// is done and checked in the source.
func (d *dbCopy) dropTriggers() error {
	if d.dst.c.postgres() {
		return d.eachTable("ALTER TABLE %s DISABLE TRIGGER USER")
	}
	names, err := d.dst.names(triggersOfSQLite)
	if err != nil {
		return err
	}
	for _, name := range names {
		var create string
		if err := d.dst.row("SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?", name).Scan(&create); err != nil {
			return err
		}
		if err := d.dst.c.exec("DROP TRIGGER " + quoteName(name)); err != nil {
			return err
		}
		d.triggers = append(d.triggers, create)
	}
	return nil
}

// restoreTriggers puts the triggers of the target back.
func (d *dbCopy) restoreTriggers() error {
	if d.dst.c.postgres() {
		return d.eachTable("ALTER TABLE %s ENABLE TRIGGER USER")
	}
	for _, create := range d.triggers {
		if err := d.dst.c.exec(create); err != nil {
			return err
		}
	}
	return nil
}

// eachTable runs a statement for each table of the target.
func (d *dbCopy) eachTable(format string) error {
	for _, t := range d.tables {
		if err := d.dst.c.exec(fmt.Sprintf(format, quoteName(t.name))); err != nil {
			return err
		}
	}
	return nil
}
