package billing

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPacked holds that a row which is packed is the same row again, with all the fields that there are.
func TestPacked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Row{}
		v := reflect.ValueOf(&r).Elem()
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			switch f := v.Field(i); f.Interface().(type) {
			case string:
				f.SetString(rapid.String().Draw(t, name))
			case bool:
				f.SetBool(rapid.Bool().Draw(t, name))
			case time.Time:
				f.Set(reflect.ValueOf(time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, name)).UTC()))
			case map[string]string:
				if labels := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, name); len(labels) > 0 {
					f.Set(reflect.ValueOf(labels))
				}
			default:
				f.SetInt(rapid.Int64().Draw(t, name))
			}
		}
		p := packed{r.id(), r.Time.UnixMilli(), r.pack(nil)}
		if got := p.row(); !reflect.DeepEqual(got, r) {
			t.Fatalf("got %+v, want %+v", got, r)
		}
	})
}
