package repair_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/internal/steps"
	"github.com/callgate/callgate/sdk/abi"
)

// hostileAnswers are texts around a value that are long in one way each.
func hostileAnswers(size int) map[string]string {
	fill := func(head, unit, tail string) string { return head + strings.Repeat(unit, size/len(unit)) + tail }
	texts := hostile(size)
	maps.Copy(texts, map[string]string{
		"a fence of white space":     fill("```json\n", "\n", "{}\n```"),
		"a fence of spaces":          fill("```json", " ", "{}\n```"),
		"a fence that stays open":    fill("```json\n{}", "\n", ""),
		"fences":                     fill("x", "```json\n", "{}"),
		"fences of programs":         fill("x", "```go\nf({})\n```\n", "{}"),
		"marks":                      fill("x", "`", "{}"),
		"marks apart":                fill("x", "` ", "{}"),
		"notes":                      fill("x", "[note] ", "{}"),
		"names":                      fill("x", "{name} ", "{}"),
		"braces in prose":            fill("x", "{ ", "{}"),
		"empty values":               fill("x", "{} ", ""),
		"parts of a program":         fill("x", "f({}) ", "{}"),
		"prose behind":               fill("{}", "and so on\n", ""),
		"reasoning":                  fill("<think>", "{ ", "</think>{}"),
		"reasoning again":            fill("", "<think></think>", "{}"),
		"a string of answers":        fill(`"`, `{\"a\":1} `, `"`),
		"a string of fences":         fill(`"`, "```json\\n{}\\n```", `"`),
		"byte order marks":           fill("", "\ufeff", "{}"),
		"lists of brackets in prose": fill("x", "[1, [2], ", "]"),
	})
	return texts
}

// TestAnswerHostile checks that work grows no faster than the text, whole and cut.
func TestAnswerHostile(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		const size, factor = 2 << 10, 16
		small, large := hostileAnswers(size), hostileAnswers(size*factor)
		for name := range large {
			for _, piece := range []int{1 << 20, 256, 3} {
				t.Run(fmt.Sprintf("%s in pieces of %d", name, piece), func(t *testing.T) {
					work := func(text string) func() {
						return func() {
							a := new(repair.Answer)
							a.Begin(&repair.Form{Root: abi.Object, Tool: fuzzTool()}, 0)
							for rest := []byte(text); len(rest) > 0; rest = rest[min(piece, len(rest)):] {
								a.Feed(rest[:min(piece, len(rest))])
							}
							a.End()
						}
					}
					steps.Linear(t, factor, work(small[name]), work(large[name]))
				})
			}
		}
	})
}
