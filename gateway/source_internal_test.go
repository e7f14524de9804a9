package gateway

import "testing"

// TestHosted holds which tools that an upstream runs may do more than look something up.
func TestHosted(t *testing.T) {
	t.Parallel()
	for kind, acts := range map[string]bool{
		"web_search": false, "web_search_preview": false, "web_search_20250305": false, "web_fetch_20250910": false, "file_search": false, "tool_search": false,
		"image_generation": true, "code_interpreter": true, "code_execution_20250825": true, "mcp": true, "computer_use_preview": true, "": true,
	} {
		var h Hosted
		if h.Add(kind); !h.Any || h.Acts != acts {
			t.Errorf("%q: got %+v, want acts %t", kind, h, acts)
		}
	}
	r := &Request{Source: &Source{Hosted: Hosted{Any: true}}}
	if r.MayHaveRun().Any {
		t.Error("an upstream that has got a chat completion has run none")
	}
}
