package openai

import "testing"

func TestWithout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, object, want string }{
		{"alone", `{"x":1}`, `{}`},
		{"first", `{ "x" : {"a":[1,2]} , "b":2}`, `{ "b":2}`},
		{"last", `{"b":2 , "x":"}" }`, `{"b":2 }`},
		{"in the middle", "{\"a\":1,\n\"x\":null,\n\"b\":1.0}", "{\"a\":1,\n\"b\":1.0}"},
		{"escaped", `{"a":1,"\u0078":2}`, `{"a":1}`},
		{"within another", `{"a":{"x":1}}`, ""},
		{"as a value", `{"a":"x"}`, ""},
		{"not there", `{}`, ""},
		{"no object", `["x"]`, ""},
		{"cut", `{"x":`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			object := []byte(tt.object)
			got, ok := without(object, "x")
			if ok != (tt.want != "") || string(got) != tt.want {
				t.Errorf("got %q, %v, want %q", got, ok, tt.want)
			}
			if string(object) != tt.object {
				t.Errorf("the object was changed to %q", object)
			}
		})
	}
}
