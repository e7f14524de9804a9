package repair_test

import (
	"fmt"

	"github.com/callgate/callgate/gateway/repair"
)

func ExampleArgs() {
	var args repair.Args
	args.Begin(nil, nil, 0)
	for _, piece := range []string{`{'ci`, `ty': 'Os`, `lo', days: 3`, `,}`} {
		fmt.Printf("%s|", args.Feed([]byte(piece)))
	}
	rest, _, problem := args.End()
	fmt.Println(string(rest), problem == nil, args.Repairs())
	// Output: {|"city": "Os|lo", "days": |3}| true [args_json]
}

func ExampleSchemas_Check() {
	schema := []byte(`{"properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false}`)
	schemas := repair.NewSchemas(0)
	problem, _ := schemas.Check(schema, []byte(`{"cty": "Oslo"}`))
	fmt.Println(problem.Path)
	fmt.Println(problem.Message)
	// Output:
	//
	// The arguments do not fit the tool's schema: the required "city" is missing; cty: there is no such parameter (did you mean "city"?).
}
