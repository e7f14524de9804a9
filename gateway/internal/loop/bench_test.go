package loop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/gateway/internal/loop"
)

// longRun is a conversation of 5,000 messages and 1 MB without an end in sight: a
// program reads one file after the other, and all are different.
func longRun() []byte {
	var b strings.Builder
	b.WriteString(`[{"role":"user","content":"Document the packages."}`)
	for n := range 2500 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%05d","type":"function","function":{"name":"read_file","arguments":"{\"path\": \"pkg/file%d.go\", \"offset\": %d, \"limit\": 20}"}}]}`, n, n/3, n%3*20)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"call_%05d","content":"%d\tfunc (s *Server) handle%d(w http.ResponseWriter) error {\n\tif err != nil {\n\t\treturn err // no retry\n\t}\n"}`, n, n%3*20, n)
	}
	b.WriteString("]")
	return []byte(b.String())
}

func BenchmarkCheck5000(b *testing.B) {
	run := longRun()
	b.Run("with reading", func(b *testing.B) {
		b.SetBytes(int64(len(run)))
		b.ReportAllocs()
		for b.Loop() {
			loop.Check(ledger.New(conversation.Read(run), nil), nil, loop.Limits{})
		}
	})
	b.Run("read before", func(b *testing.B) {
		c := conversation.Read(run)
		b.SetBytes(int64(len(run)))
		b.ReportAllocs()
		for b.Loop() {
			loop.Check(ledger.New(c, nil), nil, loop.Limits{})
		}
	})
}
