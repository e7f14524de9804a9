package responses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/steps"
)

// TestThoughtsAreLinear holds that many pieces of reasoning take no more each than few.
func TestThoughtsAreLinear(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		const some, factor = 200, 16
		pieces := func(n int, format string) [][]byte {
			list := make([][]byte, n)
			for i := range list {
				list[i] = []byte(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
			}
			return list
		}
		members := func(n int) [][]byte {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, `"m%d":1,`, i)
			}
			return [][]byte{[]byte(`[{` + b.String() + `"type":"reasoning.text"}]`)}
		}
		for name, of := range map[string]func(n int) [][]byte{
			"an index each": func(n int) [][]byte { return pieces(n, `[{"type":"reasoning.text","index":#,"text":"x"}]`) },
			"a type each":   func(n int) [][]byte { return pieces(n, `[{"type":"#","index":0,"text":"x"}]`) },
			"no index":      func(n int) [][]byte { return pieces(n, `[{"type":"reasoning.encrypted","data":"x"}]`) },
			"one index":     func(n int) [][]byte { return pieces(n, `[{"type":"reasoning.text","index":0,"text":"x"}]`) },
			"many members":  members,
		} {
			t.Run(name, func(t *testing.T) {
				add := func(list [][]byte) func() {
					return func() {
						var all thoughts
						for _, piece := range list {
							all.add(thoughtMembers[0], piece, false)
						}
					}
				}
				steps.Linear(t, factor, add(of(some)), add(of(some*factor)))
			})
		}
	})
}
