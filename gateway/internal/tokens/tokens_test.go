package tokens_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/tokens"
)

// TestJSON compares the estimate with what OpenAI's tokenizer o200k_base makes of a text.
func TestJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		o200k int
		off   float64 // how far off it may be
	}{
		"English": {strings.Repeat("The quick brown fox jumps over the lazy dog. ", 20), 201, 0.15},
		"German":  {strings.Repeat("Die Geschwindigkeit der Übertragung hängt von der Größe der Datei ab; außerdem muss der Benutzer angemeldet sein. ", 40), 841, 0.45},
		"Chinese": {strings.Repeat("今天天气很好，我们去公园散步吧。请帮我写一个程序，读取文件并统计字数。", 40), 1040, 0.45},
		"Russian": {strings.Repeat("Сегодня хорошая погода, и мы пойдём гулять в парк. Пожалуйста, напишите программу для чтения файлов. ", 40), 1121, 0.45},
	} {
		q, _ := json.Marshal(c.text)
		if got := tokens.JSON(q); math.Abs(float64(got-c.o200k)) > c.off*float64(c.o200k) {
			t.Errorf("%s: got %d tokens, want about %d", name, got, c.o200k)
		}
	}
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("A", 1<<20) + `"}}`
	if got := tokens.JSON([]byte(image)); got < 500 || got > 3000 {
		t.Errorf("an image has %d tokens", got)
	}
}

// FuzzJSON never panics, and never finds more tokens than bytes.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":["x",1,null,{"type":"image","source":{}}],"b":"\u00e9\n"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if !json.Valid(b) {
			return
		}
		b = []byte(strings.TrimSpace(string(b)))
		if n := tokens.JSON(b); n < 0 || n > 2*len(b)+1300*strings.Count(string(b), "source") {
			t.Fatalf("%q has %d tokens", b, n)
		}
	})
}
