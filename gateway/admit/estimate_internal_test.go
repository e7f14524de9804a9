package admit

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// TestTextBytes holds that pictures and the like are no text, wherever they stand, and that text is, whatever it looks like.
func TestTextBytes(t *testing.T) {
	t.Parallel()
	picture := strings.Repeat("iVBORw0KGgo+/_-A", 300) + "=="
	for _, row := range []struct {
		name, before, middle, after string
		media                       int64
	}{
		{"data URL", `{"url":"data:image/png;base64,`, picture, `"}`, 1},
		{"with escapes", `{"url":"data:image\/png;base64,`, strings.ReplaceAll(picture, "/", `\/`), `"}`, 1},
		{"member", `{"input_audio":{"data":"`, picture, `","format":"wav"}}`, 1},
		{"member with spaces", "{\"data\" :\n \"", picture, `"}`, 1},
		{"two", `{"data":"`, picture + `","text":"` + strings.Repeat("word ", 1000) + `","url":"data:a/b;base64,` + picture, `"}`, 2},
		{"neighbours", `["data:a/b;base64,`, picture + `","data:a/b;base64,` + picture, `"]`, 2},
		{"text that looks like it", `{"content":"`, picture, `"}`, 0},
		{"another name", `{"data_of":"`, picture, `"}`, 0},
		{"a short one", `{"data":"`, picture[:1000], `"}`, 0},
		{"cut", `{"data":"`, picture, ``, 1},
		{"bare", ``, picture, ``, 0},
		{"empty", ``, ``, ``, 0},
	} {
		for shift := range 64 { // wherever it stands
			space := strings.Repeat(" ", shift*37)
			body := space + row.before + row.middle + row.after
			want := int64(len(body))
			if row.media > 0 {
				want -= int64(strings.Count(strings.ReplaceAll(row.middle, `\/`, "/"), picture)*len(picture)) + int64(strings.Count(row.middle, `\/`))
			}
			if text, media := textBytes([]byte(body)); text != want || media != row.media {
				t.Fatalf("%s, %d: got %d bytes of text and %d pictures, want %d and %d", row.name, shift, text, media, want, row.media)
			}
		}
	}
}

// TestInputAgain holds that an attempt after the first holds no tokens for the bytes of a picture.
func TestInputAgain(t *testing.T) {
	t.Parallel()
	body := `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("AAAA", 1<<18) + `"}}]}]}`
	req, err := gateway.ParseRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	e, _ := newEstimate(req, &model{bytes: firstRatio}, kind{chat: true})
	if e.input < imageTokens || e.input > imageTokens+100 {
		t.Errorf("the first attempt has %d tokens", e.input)
	}
	if again := e.inputOf(int64(len(body) + 360)); again != e.input+100 {
		t.Errorf("one with 360 bytes more has %d tokens, want %d", again, e.input+100)
	}
	counted, estimated := e.counted(&gateway.Use{Purpose: gateway.ForReask, Sent: len(body)})
	if !estimated || int64(counted.Input) != e.input {
		t.Errorf("got %d tokens counted of an answer that says nothing, want %d", counted.Input, e.input)
	}
}
