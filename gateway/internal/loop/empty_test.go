package loop_test

import (
	"testing"
)

// TestEmptyForms: what a tool that reads gives where there is nothing, and its neighbours that are content.
func TestEmptyForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		result string
		empty  bool
	}{
		{"No results found.", true}, {"no matches", true}, {"0 results", true}, {"Found 0 matches", true}, {"There are no records.", true},
		{"No data available", true}, {"Zero rows returned.", true},
		{"No results found. Did you mean Oslo?", false}, {"No results found, cache is stale", false}, {"No problem", false}, {"no", false}, {"No.", false},
		{"0", false}, {"0 °C", false}, {"0 errors", false}, {"0 Fehler", false}, {"No errors found.", false}, {"No issues found", false}, {"10 results", false},
		{"no files changed", false}, {"No flights on Sundays", false}, {"No data loss", false}, {"Nothing to commit, working tree clean", false},
		{"Es gibt keine Ergebnisse außer A.", false},

		{"<results/>", true}, {"<results></results>", true}, {"<?xml version=\"1.0\"?>\n<results>\n</results>", true}, {`<response><items total="0"/></response>`, true},
		{`<antwort anzahl="0"/>`, false}, {`<treffer total="0"/>`, true}, {`<feed xmlns="http://www.w3.org/2005/Atom"></feed>`, true}, {`<results query="x" page="1"/>`, true},
		{"<ok/>", false}, {"<true/>", false}, {"<results><result/>x</results>", false}, {`<results><hit id="1"/></results>`, false}, {"<results><enabled/></results>", false},
		{`<results next="abc" owner="Ann"/>`, false}, {"<results/><results/>", false}, {"<errors/>", false}, {`<data value="3"/>`, false}, {"<results><errors/></results>", false},
		{"<results>", false}, {"<results/> and more", false}, {"<!DOCTYPE html><list/>", false}, {"<ergebnisse/>", false},

		{"| id | name |\n|----|------|", true}, {"| Nr | Name | Preis |\n|:--|:-:|--:|\n", true}, {"| 番号 | 名前 |\n| --- | --- |", true},
		{" id | name \n----+------\n(0 rows)", true}, {" id | name \n----+------\n(0 Zeilen)", true}, {"+----+------+\n| id | name |\n+----+------+", true},
		{"| id | name |\n|----|------|\n| 1 | Ann |", false}, {" id | name \n----+------\n  1 | Ann\n(1 row)", false}, {"| id | name |", false},
		{"| id | name |\n|----|------|\n(10 rows)", false}, {"| id | name |\n|----|------|\nNote: 3 hidden", false}, {"Title\n-----", false}, {"a | b\n- | -", false},

		{"id,name,price", false}, {"red,green,blue", false}, {"id;name\n", false}, // nobody knows whether these are names or values
		{"id,name,price\n1,a,2", false},
	} {
		got := report(exchange{"search_orders", `{"q":"x"}`, quote(tt.result)}).NewResults == 0
		if got != tt.empty {
			t.Errorf("%q: got empty %t, want %t", tt.result, got, tt.empty)
		}
		if report(exchange{"tool", `{"q":"x"}`, quote(tt.result)}).NewResults == 0 {
			t.Errorf("%q of a tool of which nobody knows what it does counts as nothing", tt.result)
		}
	}
}
