package httpapi

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/internal/spelling"
)

// patch reads the name in the path, and which fields are to change.
func patch(c echo.Context) (name string, change map[string]jsontext.Value, err error) {
	if name, err = nameOf(c); err != nil {
		return "", nil, err
	}
	if err := readJSON(c, &change); err != nil {
		return "", nil, err
	}
	if _, there := change["name"]; there {
		return "", nil, &gateway.Error{Kind: gateway.Invalid, Param: "name", Message: "The name cannot be changed: make a new one, and delete this."}
	}
	return name, change, nil
}

// merged reads fields with a change put over them; null takes one away.
func merged(fields any, change map[string]jsontext.Value, into any) error {
	var all map[string]jsontext.Value
	text, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return err
	}
	for name, value := range change {
		all[name] = value
		if value.Kind() == 'n' {
			delete(all, name)
		}
	}
	if text, err = json.Marshal(all); err != nil {
		return err
	}
	return parseJSON(text, into)
}

// readJSON reads a request's body, an object; none is an empty one. Fields that are not known, or are
// there twice, are refused.
func readJSON(c echo.Context, into any) error {
	body, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return &gateway.Error{Kind: gateway.Invalid, Message: "The body could not be read.", Err: err}
	}
	if len(body) == 0 {
		return nil
	}
	return parseJSON(body, into)
}

// parseJSON reads one object into into. Its errors say which field is wrong.
func parseJSON(body []byte, into any) error {
	err := json.Unmarshal(body, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	var wrong *json.SemanticError
	if !errors.As(err, &wrong) {
		return notJSON(err)
	}
	place := placeOf(wrong.JSONPointer)
	if place == "" {
		return &gateway.Error{Kind: gateway.Invalid, Message: fmt.Sprintf("The body is %s, and must be one JSON object.", nounOf(wrong.JSONKind)), Err: err}
	}
	what := fmt.Sprintf("is %s, and takes %s", valueOf(body, wrong), typeOf(wrong.GoType))
	if errors.Is(err, json.ErrUnknownName) {
		what = "is not known here"
		if near := slips.Near(place, membersOf(into)); len(near) > 0 {
			what += fmt.Sprintf("; did you mean %q?", near[0])
			return &gateway.Error{Kind: gateway.Invalid, Param: place, Message: fmt.Sprintf("The field %q %s", gateway.ExcerptOf(place, 80), what), Err: err}
		}
	}
	return &gateway.Error{Kind: gateway.Invalid, Param: place, Message: fmt.Sprintf("The field %q %s.", gateway.ExcerptOf(place, 80), what), Err: err}
}

// notJSON is the error of a body that is not strict JSON.
func notJSON(err error) error {
	var at *jsontext.SyntacticError
	switch {
	case !errors.As(err, &at):
		return &gateway.Error{Kind: gateway.Invalid, Message: "The body is not one JSON object with distinct names.", Err: err}
	case errors.Is(err, jsontext.ErrDuplicateName):
		place := placeOf(at.JSONPointer)
		return &gateway.Error{Kind: gateway.Invalid, Param: place, Message: fmt.Sprintf("The field %q is there twice: leave one of them out.", gateway.ExcerptOf(place, 80)), Err: err}
	}
	return &gateway.Error{Kind: gateway.Invalid, Message: fmt.Sprintf("The body is not one JSON object: it is wrong at byte %d.", at.ByteOffset), Err: err}
}

// placeOf writes a pointer as messages have places: limits[0].per.
func placeOf(pointer jsontext.Pointer) string {
	var b strings.Builder
	for token := range pointer.Tokens() {
		switch _, err := strconv.Atoi(token); {
		case err == nil && b.Len() > 0:
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return b.String()
}

// valueOf is the value that is wrong: a number or a text itself, of others their kind.
func valueOf(body jsontext.Value, wrong *json.SemanticError) string {
	for token := range wrong.JSONPointer.Tokens() {
		var members map[string]jsontext.Value
		var list []jsontext.Value
		if n, err := strconv.Atoi(token); json.Unmarshal(body, &members) == nil {
			body = members[token]
		} else if json.Unmarshal(body, &list) == nil && err == nil && n < len(list) {
			body = list[n]
		}
	}
	if body.Kind() == '"' || body.Kind() == '0' {
		return gateway.ExcerptOf(string(body), 80)
	}
	return nounOf(wrong.JSONKind)
}

// nounOf is a kind of JSON in words.
func nounOf(kind jsontext.Kind) string {
	switch kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "true or false"
}

// typeOf is what a field takes, in words.
func typeOf(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil:
		return "a value of another type"
	case t.Kind() == reflect.Int:
		return "a whole number that fits"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.String:
		return "a text"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return "a list of texts"
	case t.Kind() == reflect.Slice:
		return "a list"
	}
	return "an object"
}

// slips finds the field that a wrong one may be a slip of.
var slips = spelling.Rule{Most: 1, Longest: 64, Changes: func(word, _ string) int { return (len(word) + 2) / 3 }}

// membersOf are the names of an object's members that are read into what v points to.
func membersOf(v any) (names []string) {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
