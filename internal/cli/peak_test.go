package cli

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// largeForms are requests of about so many bytes in the form that a protocol has, all of them
// within the default limits: what clients send, and what costs much to read or to translate. Each is made when it is
// called for.
func largeForms(protocol, model string, size int, hostile bool) map[string]func() string {
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	const parts, properties = 4_000, 9_900
	picture := strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", size/24)
	var call, result, image, file string // of a turn
	say := func(role, content string) string { return fmt.Sprintf(`{"role":%q,"content":%s}`, role, content) }
	head, list, turn := fmt.Sprintf(`{"model":%q`, model), "messages", `{"role":"user","content":"%s"},{"role":"assistant","content":"%[1]s"}`
	tool := `{"type":"function","function":{"name":"f%d","description":"%s","parameters":%s}}`
	switch protocol {
	case "chat":
		call = `{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"f","arguments":"{\"a\":\"%s\"}"}}]}`
		result = `{"role":"tool","tool_call_id":"c%d","content":"%s"}`
		image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}`
		file = `{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,%s"}}`
	case "responses":
		list, tool = "input", `{"type":"function","name":"f%d","description":"%s","parameters":%s}`
		call = `{"type":"function_call","call_id":"c%d","name":"f","arguments":"{\"a\":\"%s\"}"}`
		result = `{"type":"function_call_output","call_id":"c%d","output":"%s"}`
		image = `{"type":"input_image","image_url":"data:image/png;base64,%s"}`
		file = `{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,%s"}`
	case "messages":
		head, tool = head+`,"max_tokens":9`, `{"name":"f%d","description":"%s","input_schema":%s}`
		call = `{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"f","input":{"a":"%s"}}]}`
		result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"%s"}]}`
		image = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}`
		file = `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"%s"}}`
	}
	text := map[string]string{"chat": `{"type":"text","text":"%s"}`, "responses": `{"type":"input_text","text":"%s"}`, "messages": `{"type":"text","text":"%s"}`}[protocol]
	with := func(messages ...string) string {
		return head + fmt.Sprintf(`,%q:[`, list) + strings.Join(messages, ",") + `]}`
	}
	many := func(n int, f func(i int) string) []string {
		var out []string
		for i := range n {
			out = append(out, f(i))
		}
		return out
	}
	hi := say("user", `"hi"`)
	tools := func(each ...string) string { // 4 MiB at most
		return head + fmt.Sprintf(`,%q:[`, list) + say("user", `"`+strings.Repeat("a", max(size-4<<20, 1))+`"`) + `],"tools":[` + strings.Join(each, ",") + `]}`
	}
	room := min(size, 4<<20) - 2000
	prose := "The quick brown fox. "
	of := func(n int, s string) string { return strings.Repeat(s, max(n/len(s), 1)) }
	forms := map[string]func() string{
		"text":       func() string { return with(say("user", `"`+fill(prose)+`"`)) },
		"escapes":    func() string { return with(say("user", `"`+fill(`\u00e9`)+`"`)) },
		"quotes":     func() string { return with(say("user", `"`+fill(`\"`)+`"`)) },
		"multi-byte": func() string { return with(say("user", `"`+fill("日本語")+`"`)) },
		"system":     func() string { return with(say("system", `"`+fill(prose)+`"`), hi) },
		"image": func() string {
			return with(say("user", `[`+fmt.Sprintf(text, "a")+`,`+fmt.Sprintf(image, picture)+`]`))
		},
		"images": func() string {
			return with(say("user", `[`+strings.Join(many(8, func(int) string { return fmt.Sprintf(image, picture[:size/32*4]) }), ",")+`]`))
		},
		"file": func() string { return with(say("user", `[`+fmt.Sprintf(file, picture)+`]`)) },
		"text parts": func() string {
			return with(say("user", `[`+strings.Join(many(parts, func(int) string { return fmt.Sprintf(text, of(size/parts, prose)) }), ",")+`]`))
		},
		"messages": func() string {
			return with(append(many(parts/2, func(int) string { return fmt.Sprintf(turn, of(size/parts, prose)) }), hi)...)
		},
		"short ones": func() string {
			return with(append(many(min(parts, size/120), func(int) string { return fmt.Sprintf(turn, "a") }), hi)...)
		},
		"calls": func() string {
			return with(append([]string{hi}, many(parts/2, func(i int) string {
				return fmt.Sprintf(call, i, of(size/parts, `b c `)) + "," + fmt.Sprintf(result, i, of(size/parts, prose))
			})...)...)
		},
		"arguments": func() string { return with(hi, fmt.Sprintf(call, 1, fill(prose)), fmt.Sprintf(result, 1, "ok")) },
		"result":    func() string { return with(hi, fmt.Sprintf(call, 1, "a"), fmt.Sprintf(result, 1, fill(`{\"a\":1},`))) },
		"properties": func() string {
			return tools(fmt.Sprintf(tool, 1, "a", `{"type":"object","properties":{`+strings.Join(many(min(properties, room/40), func(i int) string {
				return fmt.Sprintf(`"p%d":{"type":"string","description":"%s"}`, i, of(room/properties-50, "ab "))
			}), ",")+`}}`))
		},
		"tools": func() string {
			return tools(many(min(1000, room/100), func(i int) string {
				return fmt.Sprintf(tool, i, of(room/1000-120, "ab "), `{"type":"object","properties":{}}`)
			})...)
		},
		"white space": func() string { return with(hi)[:len(with(hi))-1] + fill(" \n") + `}` },
	}
	if hostile {
		for name, form := range hostileBodies(model, size, true) {
			forms["hostile "+name] = form
		}
	}
	return forms
}

// peakOf is the most memory that the process has at once meanwhile, beyond what it had before.
func peakOf(t *testing.T, pid int, idle int64, while func()) int64 {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		t.Skipf("nobody says how much memory a process had: %v", err)
	}
	while()
	return memoryOf(t, pid, "VmHWM") - idle
}

// discardingAll is an upstream that keeps nothing of what it is sent, and answers as the path says.
func discardingAll(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("content-type", "application/json")
		answer := completion("ok")
		if strings.HasSuffix(r.URL.Path, "/messages") {
			answer = messageAnswer
		}
		io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestPeakMemory measures the memory that one request needs at once, by what the process has at most:
// for clients of each protocol, through upstreams of each sort, with bodies of each form that
// costs much. It is at most four times the body's bytes, and 2 MiB for what the process needs itself; of
// a small one at most 16 MiB more than its bytes, since what is read of many small values is larger than
// they are. The collector works all the time, and gives memory back at once.
// CALLGATE_PEAK has the sizes of bodies in megabytes in the place of 8, such as "1 8 30", and has all forms
// measured, in the place of those that cost most.
func TestPeakMemory(t *testing.T) {
	if underRace {
		t.Skip("the race detector takes several times the memory that is counted here")
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says how much memory a process had at most")
	}
	const times, idles, least = 4, 2 * mebi, 16 * mebi
	sizes, dearest := []string{"8"}, []string{"calls", "messages", "text parts", "tools", "hostile bad arguments"}
	if s := os.Getenv("CALLGATE_PEAK"); s != "" {
		sizes, dearest = strings.Fields(s), nil
	}
	url := discardingAll(t)
	for client, path := range map[string]string{"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"} {
		for up, provider := range map[string]string{
			"openai":    `{type: openai, base_url: %q, api_key: x, parser: auto}`,
			"azure":     `{type: azure, base_url: %q, api_key: x, parser: auto}`,
			"anthropic": `{type: anthropic, base_url: %q, api_key: x}`,
		} {
			if up == "azure" && client == "messages" {
				continue // as of the other clients
			}
			t.Run(client+" through "+up, func(t *testing.T) {
				base := url + "/v1"
				if up == "azure" {
					base = url
				}
				var s setup
				s.head.WriteString("limits: {memory: 4GiB}\n")
				fmt.Fprintf(&s.providers, "  up: "+provider+"\n", base)
				g, process := spawn(t, s.String(), "GOGC=1", "GOMEMLIMIT=1MiB", "GODEBUG=madvdontneed=1")
				ask := func(body string) result { return g.do(g.request("POST", path, body)) }
				for _, form := range largeForms(client, "up/m", 64<<10, false) { // what is made once
					ask(form())
				}
				settle := func(idle int64) { // what the request before has left goes, until it is no less for a while
					lowest := memoryOf(t, process.Pid, "VmRSS")
					for still := 0; still < 20 && lowest > idle; still++ {
						g.gauge("callgate_memory_claimed_bytes")
						if now := memoryOf(t, process.Pid, "VmRSS"); now < lowest {
							lowest, still = now, 0
						}
					}
				}
				settle(0)
				idle := memoryOf(t, process.Pid, "VmRSS")
				for _, size := range sizes {
					megabytes, err := strconv.Atoi(size)
					if err != nil {
						t.Fatal(err)
					}
					forms := largeForms(client, "up/m", megabytes*1_000_000, client == "chat" && up == "anthropic")
					for _, name := range slices.Sorted(maps.Keys(forms)) {
						if dearest != nil && !slices.Contains(dearest, name) {
							continue
						}
						body := forms[name]()
						n := int64(len(body))
						limit := max(times*n+idles, n+least)
						var r result
						var most, sum int64
						for try := 0; try == 0 || try < 3 && most > limit; try++ { // what a busy machine has not collected yet only adds
							settle(idle + mebi)
							sum = g.allocates(func() { most = peakOf(t, process.Pid, idle, func() { r = ask(body) }) })
						}
						t.Logf("%-9s %-9s %-24s %8d bytes: peak %6.1f MiB, %5.2f times; sum %5.2f times; status %d", client, up, name, n,
							float64(most)/mebi, float64(most)/float64(n), float64(sum)/float64(n), r.status)
						if most > limit {
							t.Errorf("%s: got %d MiB at once for a request of %d bytes, want at most %d", name, most/mebi, n, limit/mebi)
						}
						if r.status != http.StatusOK && !strings.HasPrefix(name, "hostile") {
							t.Errorf("%s: got %d %.300s, want 200", name, r.status, r.body)
						}
					}
				}
				g.nothingClaimed(t)
			})
		}
	}
}

// TestMemoryDoubt has the requests in progress be allowed more than the process can hold, which is
// said in the log.
func TestMemoryDoubt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		memory, limit, says string
	}{
		{"128MiB", "256MiB", ""},
		{"200MiB", "256MiB", "more than half of GOMEMLIMIT"},
		{"1000GiB", "off", "more than a quarter of the memory that there is"},
	} {
		var s setup
		fmt.Fprintf(&s.head, "limits: {memory: %s}\n", row.memory)
		s.provider("up", well(t).url, "")
		g, _ := spawn(t, strings.Replace(s.String(), "level: error", "level: warn", 1), "GOMEMLIMIT="+row.limit)
		g.chat(prompt("up/m", "hi", false))
		log := g.stderr.String() + g.stdout.String()
		if said := strings.Contains(log, "limits.memory is"); said != (row.says != "") || !strings.Contains(log, row.says) {
			t.Errorf("limits.memory %s, GOMEMLIMIT %s: got the log\n%s\nwant %q in it", row.memory, row.limit, log, row.says)
		}
	}
}
