package history_test

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/history"
	"github.com/callgate/callgate/internal/steps"
)

// repeat writes f of 0 to n-1, with commas between.
func repeat(n int, f func(int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(f(i))
	}
	return b.String()
}

func assistant(calls string) string { return `{"role":"assistant","tool_calls":[` + calls + `]}` }

func callOf(id string) string { return `{"id":"` + id + `","function":{"name":"f","arguments":"{"}}` }

func resultOf(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"x"}` }

// all repeats the same.
func all(s string) func(int) string { return func(int) string { return s } }

// numbered repeats calls or results with ids of their own.
func numbered(of func(string) string) func(int) string {
	return func(i int) string { return of("a:" + strconv.Itoa(i)) }
}

// standIns are the ids that are given in place of one that cannot stay.
func standIns(id string) func(int) string {
	hash := sha256.Sum256([]byte(id))
	return func(i int) string {
		salted := sha256.Sum256(strconv.AppendInt(hash[:], int64(i), 10))
		return "call_" + strings.ToLower(base32.StdEncoding.EncodeToString(salted[:])[:24])
	}
}

// hostile are conversations of n calls or results each.
var hostile = []struct {
	name string
	of   func(n int) string
}{
	{"calls of one message", func(n int) string {
		return assistant(repeat(n, numbered(callOf))) + "," + repeat(n, numbered(resultOf))
	}},
	{"results in reverse", func(n int) string {
		return assistant(repeat(n, numbered(callOf))) + "," + repeat(n, func(i int) string { return numbered(resultOf)(n - 1 - i) })
	}},
	{"no results", func(n int) string { return assistant(repeat(n, numbered(callOf))) }},
	{"smallest calls", func(n int) string { return assistant(repeat(n, all(`{"id":"a"}`))) }},
	{"smallest results", func(n int) string { return repeat(n, all(`{"role":"tool"}`)) }},
	{"calls of one id", func(n int) string {
		return assistant(repeat(n, all(callOf("a")))) + "," + repeat(n, all(resultOf("a")))
	}},
	{"messages with a call of one id", func(n int) string { return repeat(n, all(assistant(callOf("a")))) }},
	{"late results of one id", func(n int) string {
		return repeat(n, all(assistant(callOf("a")))) + `,{"role":"user"},` + repeat(n, all(resultOf("a")))
	}},
	{"calls without an id", func(n int) string {
		return assistant(repeat(n, all(callOf("")))) + "," + repeat(n, all(`{"role":"tool"}`))
	}},
	{"a large turn and many small ones", func(n int) string {
		return assistant(repeat(n, numbered(callOf))) + "," + repeat(n, all(`{"role":"user"},`+resultOf("b")))
	}},
	{"orphans between results", func(n int) string {
		return assistant(repeat(n, numbered(callOf))) + "," + repeat(n, func(i int) string { return resultOf("x") + "," + numbered(resultOf)(i) })
	}},
	{"ids that are taken", func(n int) string {
		id := standIns("a")
		return assistant(repeat(n, func(i int) string { return callOf(id(i)) })) + "," + assistant(repeat(n, all(callOf("a"))))
	}},
	{"ids that are taken, for a long one", func(n int) string {
		long := strings.Repeat("é", 10*n)
		id := standIns(long)
		return assistant(repeat(n, func(i int) string { return callOf(id(i)) })) + "," + assistant(callOf(long)+","+callOf(long))
	}},
	{"many members", func(n int) string {
		return `{"role":"tool",` + repeat(n, func(i int) string { return fmt.Sprintf(`"%d":0`, i) }) + `}`
	}},
	{"quotes", func(n int) string {
		return assistant(`{"id":"a","function":{"arguments":"` + strings.Repeat(`\"`, 10*n) + `"}}`)
	}},
	{"brackets", func(n int) string {
		return assistant(`{"id":"a","function":{"arguments":"` + strings.Repeat(`{\"a\":[`, n) + `"}}`)
	}},
}

// TestRepairHostile compares the steps of a conversation and of one sixteen times as large.
func TestRepairHostile(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		const small, factor = 200, 16
		for _, tt := range hostile {
			for _, needs := range []history.Needs{everything, {IDs: history.MistralID}} {
				t.Run(fmt.Sprintf("%s for %v", tt.name, needs), func(t *testing.T) {
					work := func(n int) func() {
						messages := []byte("[" + tt.of(n) + "]")
						return func() {
							history.Repair(conversation.Read(messages), needs, mend)
							history.IDs(conversation.Read(messages))
						}
					}
					steps.Linear(t, factor, work(small), work(small*factor))
				})
			}
		}
	})
}

// TestRepairGrowth is about memory: what the repairs add is bounded by the text.
func TestRepairGrowth(t *testing.T) {
	t.Parallel()
	for _, tt := range hostile {
		messages := []byte("[" + tt.of(1000) + "]")
		if got := len(repaired(messages, everything)); got > 14*len(messages) {
			t.Errorf("%s: got %d bytes from %d, want at most 14 times as many", tt.name, got, len(messages))
		}
	}
}
