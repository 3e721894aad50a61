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
			case bool:
				v.Boolean = value
			case int64:
				number = value
			case int32: // a server may store what is small so
				number = int64(value)
			}
			if s.own[i].Type == document.TypeInstant {
				v = document.Value{Instant: time.UnixMicro(number).UTC()}
			} else {
				v.Integer = number
			}
			d.Set(e.Key, v)
		}
	}
}
