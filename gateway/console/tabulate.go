package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// section is an object of JSON: what it says itself, its lists, and what is below.
type section struct {
	Name   string
	Level  int // of its heading, from 2
	Fields []field
	Tables []table
}

type field struct{ Name, Value string }

// table is a list of objects; a cell is empty where an object has no such member.
type table struct {
	Name    string
	Columns []cell // a number: all cells below are
	Rows    [][]cell
}

type cell struct {
	Text   string
	Number bool
}

// tabulate makes sections of a value's JSON, in the order of its members. It is for values
// of the gateway's own, whose lists are bounded.
func tabulate(v any) ([]section, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	root, err := readNode(d)
	if err != nil {
		return nil, fmt.Errorf("the snapshot of the caches is not JSON: %w", err)
	}
	var out []section
	root.sections(&out, "", 2)
	return out, nil
}

// node is a value of JSON whose members are in order.
type node struct {
	members []member // of an object
	items   []node   // of a list
	object  bool
	list    bool
	scalar  cell
}

type member struct {
	name  string
	value node
}

func readNode(d *json.Decoder) (node, error) {
	token, err := d.Token()
	if err != nil {
		return node{}, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return readObject(d)
		}
		return readList(d)
	case json.Number:
		return node{scalar: cell{t.String(), true}}, nil
	case bool:
		return node{scalar: cell{map[bool]string{true: "yes", false: "no"}[t], false}}, nil
	case string:
		if at, err := time.Parse(time.RFC3339Nano, t); err == nil {
			t = at.UTC().Format("2006-01-02 15:04:05") + " UTC"
		}
		return node{scalar: cell{t, false}}, nil
	}
	return node{scalar: cell{"–", false}}, nil
}

func readObject(d *json.Decoder) (node, error) {
	n := node{object: true}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return n, err
		}
		value, err := readNode(d)
		if err != nil {
			return n, err
		}
		name, _ := key.(string)
		n.members = append(n.members, member{name, value})
	}
	_, err := d.Token()
	return n, err
}

func readList(d *json.Decoder) (node, error) {
	n := node{list: true}
	for d.More() {
		item, err := readNode(d)
		if err != nil {
			return n, err
		}
		n.items = append(n.items, item)
	}
	_, err := d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// sections appends an object and those below it.
func (n node) sections(out *[]section, name string, level int) {
	s := section{Name: label(name), Level: min(level, 4)}
	var below []member
	for _, m := range n.members {
		switch {
		case m.value.object:
			below = append(below, m)
		case m.value.list:
			s.Tables = append(s.Tables, m.value.table(m.name))
		default:
			s.Fields = append(s.Fields, field{label(m.name), m.value.scalar.Text})
		}
	}
	*out = append(*out, s)
	for _, m := range below {
		m.value.sections(out, m.name, level+1)
	}
}

// table makes a table of a list. Objects in its objects become columns of their own.
func (n node) table(name string) table {
	t := table{Name: label(name)}
	column := map[string]int{}
	for _, item := range n.items {
		row := make([]cell, len(t.Columns))
		item.cells("", func(name string, c cell) {
			i, ok := column[name]
			if !ok {
				i = len(t.Columns)
				column[name] = i
				t.Columns, row = append(t.Columns, cell{label(name), true}), append(row, cell{})
			}
			t.Columns[i].Number = t.Columns[i].Number && c.Number
			row[i] = c
		})
		t.Rows = append(t.Rows, row)
	}
	for i := range t.Rows {
		for len(t.Rows[i]) < len(t.Columns) {
			t.Rows[i] = append(t.Rows[i], cell{})
		}
	}
	return t
}

func (n node) cells(name string, give func(string, cell)) {
	switch {
	case n.object:
		for _, m := range n.members {
			m.value.cells(strings.TrimSpace(name+" "+m.name), give)
		}
	case n.list:
		give(name, cell{fmt.Sprintf("%d entries", len(n.items)), false})
	default:
		give(name, n.scalar)
	}
}

// label is a member's name for people.
func label(name string) string {
	name = strings.ReplaceAll(name, "_", " ")
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}
