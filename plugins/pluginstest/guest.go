package pluginstest

import (
	"fmt"

	"github.com/callgate/callgate/sdk/abi"
)

// Addresses in a hand-made guest.
const (
	ManifestAt = 1024
	EventsAt   = 16 << 10
	BufferAt   = 64 << 10
	freePages  = BufferAt>>16 + abi.MaxFeed>>16 + 1
)

// Guest is a hand-made plugin. The zero value is one that accepts everything and
// gives no events; Funcs replace its exports or are added to them.
type Guest struct {
	Manifest string // the default is one parser, "hand"
	Funcs    []Func
	Imports  []Import
	Globals  []int32
	Customs  [][2]string // custom sections: name and bytes
	Events   []abi.Event // that every feed returns
	Raw      string      // instead of Events, encoded
	MaxPages uint32
	Start    *int   // the index of a function, counting those of the default guest
	Without  string // an export that is left out

	DataCount bool // see Module
}

// Manifest is a manifest of one module with parsers of these names, each with a
// trigger of its name in angle brackets.
func Manifest(parsers ...string) string {
	s := ""
	for i, p := range parsers {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprintf(`{"name":%q,"version":"1.0.0","priority":50,"triggers":["<%s>"]}`, p, p)
	}
	return `{"abi":1,"name":"handmade","version":"1.0.0","parsers":[` + s + `]}`
}

// Wasm assembles the guest.
func (g Guest) Wasm() []byte {
	if g.Manifest == "" {
		g.Manifest = Manifest("hand")
	}
	events := []byte(g.Raw)
	for _, e := range g.Events {
		events = abi.AppendEvent(events, e)
	}
	m := Module{
		Imports: g.Imports,
		Funcs:   replace(defaultFuncs(len(g.Manifest), len(events)), g.Funcs),
		Memory:  &Memory{Name: abi.ExportMemory, Min: freePages, Max: g.MaxPages},
		Globals: g.Globals,
		Data:    []Data{{ManifestAt, g.Manifest}, {EventsAt, string(events)}},
		Customs: g.Customs,
		Start:   g.Start,

		DataCount: g.DataCount,
	}
	for i := range m.Funcs {
		if m.Funcs[i].Name == g.Without {
			m.Funcs[i].Name = ""
		}
	}
	if g.Without == abi.ExportMemory {
		m.Memory.Name = ""
	}
	return m.Wasm()
}

func defaultFuncs(manifest, events int) []Func {
	return []Func{
		{Name: abi.ExportManifest, Results: "I", Body: Const64(abi.Pack(ManifestAt, uint32(manifest)))},
		{Name: abi.ExportAlloc, Params: "i", Results: "i", Body: Const(BufferAt)},
		{Name: abi.ExportCanParse, Params: "iii", Results: "i", Body: Const(int32(abi.Yes))},
		{Name: abi.ExportOpen, Params: "iii", Results: "i", Body: Const(0)},
		Feed(Const64(abi.Pack(EventsAt, uint32(events)))),
		{Name: abi.ExportFinish, Params: "ii", Results: "I", Body: Const64(0)},
		{Name: abi.ExportClose, Params: "i"},
	}
}

// Feed is the export feed with this code, whose parameters are handle, pointer and
// length.
func Feed(code ...any) Func {
	return Func{Name: abi.ExportFeed, Params: "iii", Results: "I", Body: Code(code...)}
}
