package declared

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// xmlOf is a body as XML: its one member is the root, members that begin with @ are
// attributes, and a list is as many elements.
func xmlOf(body any) ([]byte, error) {
	root, ok := body.(map[string]any)
	if !ok || len(root) != 1 {
		return nil, fmt.Errorf("a document of XML has one root")
	}
	var all bytes.Buffer
	all.WriteString(xml.Header)
	for name, v := range root {
		writeXML(&all, name, v)
	}
	return all.Bytes(), nil
}

func writeXML(into *bytes.Buffer, name string, v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			writeXML(into, name, one)
		}
	case []string:
		for _, one := range v {
			writeXML(into, name, one)
		}
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		into.WriteString("<" + name)
		for _, n := range names {
			if attribute, ok := strings.CutPrefix(n, "@"); ok {
				fmt.Fprintf(into, " %s=%q", attribute, fmt.Sprint(v[n]))
			}
		}
		into.WriteString(">")
		for _, n := range names {
			if !strings.HasPrefix(n, "@") {
				writeXML(into, n, v[n])
			}
		}
		into.WriteString("</" + name + ">")
	default:
		into.WriteString("<" + name)
		if name != "turn" {
			// An element that holds a text may have attributes, as in feeds.
			into.WriteString(` of="sim"`)
		}
		into.WriteString(">")
		_ = xml.EscapeText(into, []byte(fmt.Sprint(v)))
		into.WriteString("</" + name + ">")
	}
}
