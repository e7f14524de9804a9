package plugins_test

import (
	"context"
	"fmt"
	"log"

	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

func ExampleHost() {
	ctx := context.Background()
	host, err := plugins.New(ctx, plugins.Config{})
	if err != nil {
		log.Fatal(err)
	}
	wasm := pluginstest.Guest{Events: []abi.Event{
		{Kind: abi.CallStart, Name: "get_weather"},
		{Kind: abi.Args, Text: `{"city":"Oslo"}`},
		{Kind: abi.CallEnd},
		{Kind: abi.End, To: 5},
	}}.Wasm()
	if err := host.Load(ctx, plugins.Source{Name: "hand.wasm", Wasm: wasm}); err != nil {
		log.Fatal(err)
	}

	session := host.Session() // for one response
	run, err := session.Open(ctx, "hand", abi.Options{})
	if err != nil {
		log.Fatal(err)
	}
	events, err := run.Feed(ctx, []byte("<hand>Oslo!"))
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range events {
		fmt.Printf("%v %q %q\n", e.Kind, e.Name, e.Text)
	}
	run.Close()
	session.Close()
	if err := host.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// call_start "get_weather" ""
	// args "" "{\"city\":\"Oslo\"}"
	// call_end "" ""
	// end "" ""
}
