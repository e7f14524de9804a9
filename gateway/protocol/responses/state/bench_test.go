package state_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
	"github.com/callgate/callgate/gateway/store/sqlite"
)

// BenchmarkTurn is what a turn costs beside the upstream, kept in each store and not.
func BenchmarkTurn(b *testing.B) {
	o := store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 64 << 20, Entries: 100_000}}
	inMemory, err := memory.New(o)
	if err != nil {
		b.Fatal(err)
	}
	inFile, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "store.db"), o)
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("word ", 100)
	memoryTurns, fileTurns := newTurns(b, inMemory, text), newTurns(b, inFile, text)
	for _, row := range []struct {
		name  string
		turns *turns
		kept  bool
	}{{"not kept", memoryTurns, false}, {"memory", memoryTurns, true}, {"sqlite", fileTurns, true}} {
		b.Run(row.name, func(b *testing.B) {
			body := fmt.Appendf(nil, `{"model":"m","store":%v,"instructions":%q,"input":"Please write the file.","tools":[{"type":"function","name":"write_file","description":"Write a file.",`+
				`"strict":false,"parameters":{"type":"object","properties":{"path":{"type":"string"}}}}]}`, row.kept, strings.Repeat("You are a careful assistant. ", 60))
			b.ReportAllocs()
			for b.Loop() {
				row.turns.play(b, body)
			}
		})
	}
}
