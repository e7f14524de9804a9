package cli
import ("testing";"os";"runtime/pprof";"runtime";"fmt")
func TestProf(t *testing.T) {
	runtime.MemProfileRate = 4096
	var s setup
	s.provider("up", discarding(t, completion("ok")), "parser: auto")
	s.providers.WriteString(fmt.Sprintf("  ant: {type: anthropic, base_url: %q, api_key: x}\n", discarding(t, `{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)))
	s.head.WriteString("limits: {values: 100000000, messages: 10000000, calls: 10000000, tools: {count: 100000, size: 1GiB, depth: 128, properties: 1000000}}\n")
	g := serve(t, s.String())
	m := os.Getenv("M")
	body := hostileBodies(m, 8<<20)[os.Getenv("B")]
	g.chat(body); runtime.GC(); runtime.GC()
	f,_ := os.Create("/tmp/mem.prof"); pprof.Lookup("allocs").WriteTo(f, 0); f.Close()
}
