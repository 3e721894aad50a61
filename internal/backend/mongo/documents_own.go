package mongo

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"sluice/internal/document"
)

// ownValues are a document's own values as they are stored, in the order of their
// names: a copy that is the same has the same sum.
func (s *Documents) ownValues(d *document.Document) (own bson.D) {
	for i := range s.own {
		v, there := d.Own[s.own[i].Name]
		if !there || v.Null {
			continue
		}
		e := bson.E{Key: s.own[i].Name}
		switch s.own[i].Type {
		case document.TypeText:
			e.Value = text(v.Text)
		case document.TypeInteger:
			e.Value = v.Integer
		case document.TypeBoolean:
			e.Value = v.Boolean
		case document.TypeInstant:
			e.Value = v.Instant.UnixMicro()
		case document.TypeList:
			e.Value = members(v)
		}
		own = append(own, e)
	}
	return own
}

// readOwn is the inverse of ownValues. What is not declared any more is left out.
func (s *Documents) readOwn(d *document.Document, own bson.D) {
	for _, e := range own {
		for i := range s.own {
			if s.own[i].Name != e.Key {
				continue
			}
			var v document.Value
			var number int64
			switch value := e.Value.(type) {
			case string:
				v.Text = value
			case bson.A:
				v = list(value)
			case bool:
				v.Boolean = value
			case int64:
				number = value
			case int32: // a server may store what is small so
				number = int64(value)
			}
			switch s.own[i].Type {
			case document.TypeInstant:
				v = document.Value{Instant: time.UnixMicro(number).UTC()}
			case document.TypeInteger:
				v.Integer = number
			case document.TypeText, document.TypeBoolean, document.TypeList:
			}
			d.Set(e.Key, v)
		}
	}
}

// members is a list as an array, so that a query by one of its texts finds it. What
// is no list is stored as it is.
func members(v document.Value) any {
	texts, err := v.Members()
	if err != nil {
		return text(v.Text)
	}
	array := make(bson.A, len(texts))
	for i := range texts {
		array[i] = texts[i]
	}
	return array
}

func list(array bson.A) document.Value {
	texts := make([]string, 0, len(array))
	for _, member := range array {
		if s, ok := member.(string); ok {
			texts = append(texts, s)
		}
	}
	return document.List(texts...)
}
