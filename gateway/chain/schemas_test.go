package chain_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/formats"
	toollist "github.com/callgate/callgate/gateway/internal/tools"
	"github.com/callgate/callgate/sdk/abi"
)

// untyped are the formats whose text says nothing of types: schemas decide.
var untyped = []string{"qwen3_coder", "seed_oss", "minimax_m2", "minimax_m3", "step3", "dots", "minicpm5", "glm45", "glm47", "laguna", "hy_v3", "ifm"}

// TestSchemasDecide writes a value as each format of tags does, for a tool whose schema says in one
// of many ways what it is, and holds what is read of it.
func TestSchemasDecide(t *testing.T) {
	t.Parallel()
	const defs = `"$defs":{"Count":{"type":"integer"},"Point":{"type":"object","properties":{"x":{"type":"integer"}}},"Both":{"anyOf":[{"$ref":"#/$defs/Count"},{"type":"null"}]},` +
		`"Loop":{"$ref":"#/$defs/Loop"},"a/b":{"type":"integer"},"Group":{"properties":{"size":{"type":"integer"}},"$defs":{"Deep":{"type":"integer"}}}},"definitions":{"Old":{"type":"integer"}}`
	tool := func(parameters string) string {
		return `[{"type":"function","function":{"name":"set","parameters":` + parameters + `}}]`
	}
	property := func(schema string) string {
		return tool(`{"type":"object","properties":{"v":` + schema + `,"w":{"type":"integer"}},` + defs + `}`)
	}
	for name, tt := range map[string]struct{ tools, text, want string }{
		"no type":                               {property(`{}`), "5551234567", `"5551234567"`},
		"no such parameter":                     {tool(`{"type":"object","properties":{"other":{"type":"integer"}}}`), "5", `"5"`},
		"integer":                               {property(`{"type":"integer"}`), "5", `5`},
		"integer, 17 digits":                    {property(`{"type":"integer"}`), "12345678901234567", `12345678901234567`},
		"number, 17 digits":                     {property(`{"type":"number"}`), "0.12345678901234567", `0.12345678901234567`},
		"string, 17 digits":                     {property(`{"type":"string"}`), "12345678901234567", `"12345678901234567"`},
		"string, leading zeros":                 {property(`{"type":"string"}`), "00420", `"00420"`},
		"either, leading zeros":                 {property(`{"type":["integer","string"]}`), "00420", `"00420"`},
		"list of types":                         {property(`{"type":["integer","null"]}`), "5", `5`},
		"list of types, null":                   {property(`{"type":["integer","null"]}`), "null", `null`},
		"nullable":                              {property(`{"type":"integer","nullable":true}`), "null", `null`},
		"string or null":                        {property(`{"type":["string","null"]}`), "null", `null`},
		"string or null, number":                {property(`{"type":["string","null"]}`), "5", `"5"`},
		"anyOf":                                 {property(`{"anyOf":[{"type":"integer"},{"type":"null"}]}`), "5", `5`},
		"anyOf, null":                           {property(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), "null", `null`},
		"anything or null":                      {property(`{"anyOf":[{},{"type":"null"}]}`), "5", `"5"`},
		"anything or null, null":                {property(`{"anyOf":[{},{"type":"null"}]}`), "null", `null`},
		"conditions and type":                   {property(`{"anyOf":[{"required":["x"]},{"required":["y"]}],"type":"object"}`), `{"x":1}`, `{"x":1}`},
		"oneOf":                                 {property(`{"oneOf":[{"type":"array","items":{"type":"string"}},{"type":"string"}]}`), `["a"]`, `["a"]`},
		"allOf with a reference":                {property(`{"allOf":[{"$ref":"#/$defs/Count"}],"description":"how many"}`), "5", `5`},
		"allOf, narrower":                       {property(`{"allOf":[{"type":["string","integer"]},{"type":"string"}]}`), "5", `"5"`},
		"type and anyOf":                        {property(`{"type":"string","anyOf":[{"type":"string"},{"type":"integer"}]}`), "5", `"5"`},
		"reference":                             {property(`{"$ref":"#/$defs/Count"}`), "5", `5`},
		"reference, older":                      {property(`{"$ref":"#/definitions/Old"}`), "5", `5`},
		"reference in anyOf":                    {property(`{"anyOf":[{"$ref":"#/$defs/Count"},{"type":"null"}]}`), "5", `5`},
		"reference to anyOf":                    {property(`{"$ref":"#/$defs/Both"}`), "null", `null`},
		"reference to an object":                {property(`{"$ref":"#/$defs/Point"}`), `{"x":1}`, `{"x":1}`},
		"reference to a property":               {property(`{"$ref":"#/properties/w"}`), "5", `5`},
		"reference, deeper":                     {property(`{"$ref":"#/$defs/Group/properties/size"}`), "5", `5`},
		"reference, definitions in definitions": {property(`{"$ref":"#/$defs/Group/$defs/Deep"}`), "5", `5`},
		"reference, escaped":                    {property(`{"$ref":"#/$defs/a~1b"}`), "5", `5`},
		"reference, percent":                    {property(`{"$ref":"#/%24defs/Count"}`), "5", `5`},
		"reference in a circle":                 {property(`{"$ref":"#/$defs/Loop"}`), "5", `"5"`},
		"reference to nothing":                  {property(`{"$ref":"#/$defs/None"}`), "5", `"5"`},
		"reference elsewhere":                   {property(`{"$ref":"https://example.com/count.json"}`), "5", `"5"`},
		"enum of numbers":                       {property(`{"enum":[1,5]}`), "5", `5`},
		"enum of texts":                         {property(`{"enum":["1","5"]}`), "5", `"5"`},
		"enum of both, a number":                {property(`{"enum":["5","auto",7]}`), "7", `7`},
		"enum of both, a word":                  {property(`{"enum":["5","auto",7]}`), "auto", `"auto"`},
		"enum and type":                         {property(`{"type":"string","enum":["true","false"]}`), "true", `"true"`},
		"enum narrower than type":               {property(`{"type":["string","integer"],"enum":["1","2"]}`), "1", `"1"`},
		"enum in anyOf":                         {property(`{"anyOf":[{"type":"string","enum":["on","off"]},{"type":"null"}]}`), "null", `null`},
		"text null in enum":                     {property(`{"enum":["null","none"]}`), "null", `"null"`},
		"const":                                 {property(`{"const":"5"}`), "5", `"5"`},
		"const or number":                       {property(`{"anyOf":[{"const":"auto"},{"type":"integer"}]}`), "5", `5`},
		"root is a reference":                   {tool(`{"$ref":"#/$defs/Args","$defs":{"Args":{"type":"object","properties":{"v":{"$ref":"#/$defs/N"}}},"N":{"type":"integer"}}}`), "5", `5`},
		"root is allOf":                         {tool(`{"allOf":[{"type":"object","properties":{"v":{"type":"integer"}}},{"properties":{"w":{"type":"string"}}}]}`), "5", `5`},
		"root is anyOf":                         {tool(`{"type":"object","anyOf":[{"properties":{"v":{"type":"integer"}}},{"properties":{"v":{"type":"null"}}}]}`), "5", `5`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			offered, err := toollist.Read([]byte(tt.tools))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range formats.All() {
				if !slices.Contains(untyped, f.Name) {
					continue
				}
				value, _ := json.Marshal(tt.text)
				if tt.text[0] == '{' || tt.text[0] == '[' {
					value = []byte(tt.text)
				}
				text := f.Write(formats.Turn{Calls: []formats.Call{{Name: "set", Args: []formats.Arg{{Key: "v", Value: value}}}}})
				opts := chain.Options{Tools: func() []abi.Tool { return offered }}
				for at := range len(text) + 1 {
					if at > 0 && at < len(text) && at%23 != 0 {
						continue
					}
					got := read(plan(f.Name), opts, []string{text[:at], text[at:]}, "stop")
					if len(got.calls) != 1 || !equalJSON(got.calls[0].Arguments, `{"v":`+tt.want+`}`) {
						t.Errorf("%s: %q is read as %+v, want %s", f.Name, text, got.calls, tt.want)
						break
					}
				}
			}
		})
	}
}
