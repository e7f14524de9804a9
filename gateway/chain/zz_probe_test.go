package chain_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

func TestProbe(t *testing.T) {
	file := os.Getenv("PROBE")
	if file == "" {
		t.Skip()
		for _, s := range runner.Specs {
			fmt.Printf("%-18s h=%v fr=%v pr=%d %q trig=%q starts=%q\n", s.Name, s.Heuristic, s.Framing, s.Priority, s.Example, s.Triggers, s.Starts)
		}
		return
	}
	offered := tools(t)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if len(sc.Bytes()) == 0 || sc.Text()[0] == 35 {
			fmt.Println(sc.Text())
			continue
		}
		var row []string
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err, sc.Text())
		}
		finish := "stop"
		if len(row) > 2 {
			finish = row[2]
		}
		fmt.Printf("== %s %q\n", row[0], row[1])
		prev := ""
		for _, name := range []string{row[0], "auto"} {
			p := plan(name)
			opts := chain.Options{Tools: func() []abi.Tool { return offered }, Reasoning: chain.Auto}
			got := read(p, opts, []string{row[1]}, finish)
			bad := ""
			for _, way := range cuts(row[1]) {
				if g := read(p, opts, way, finish); !reflect.DeepEqual(g, got) {
					bad = fmt.Sprintf(" !!CUT %q %+v", way, g)
					break
				}
			}
			s := ""
			for _, c := range got.calls {
				s += fmt.Sprintf(" CALL %s(%s)#%s", c.Name, c.Arguments, c.ID)
			}
			if got.content != "" {
				s += fmt.Sprintf(" TEXT %q", got.content)
			}
			if got.reasoning != "" {
				s += fmt.Sprintf(" REAS %q", got.reasoning)
			}
			if got.warnings != nil {
				s += fmt.Sprintf(" W %q", got.warnings)
			}
			if got.cut {
				s += " CUT"
			}
			s += bad
			if name == "auto" && s == prev {
				s = " same"
			}
			prev = s
			fmt.Printf("   %-6.6s%s\n", name, s)
		}
	}
}
