package declared

import (
	"sluice/internal/document"
	"sluice/internal/source"
)

// Describe declares the source.
func (f *File) Describe() source.Description {
	d := source.Description{Name: f.Name, Title: f.Title, Rations: f.sourceRations(), Concurrency: f.concurrency()}
	for _, s := range f.Streams {
		kind := f.Kind(s)
		doc := s.Doc
		if doc == "" {
			doc = s.Name + " of " + f.Title
		}
		d.Kinds = append(d.Kinds, document.Declaration{
			Kind: kind, Source: f.Name, Plural: string(kind), Doc: doc, Columns: s.table(), Read: s.readFields,
		})
	}
	return d
}

// table is the columns of a stream's table.
func (s *Stream) table() []document.Column {
	columns := []document.Column{
		{Name: "id", Type: document.TypeText, From: document.FromName, Doc: "what names it at the upstream"},
		{Name: "account", Type: document.TypeText, From: document.FromAccount, Repeats: true, Doc: "what it was collected for"},
		{Name: "source", Type: document.TypeText, From: document.FromSource, Repeats: true, Doc: "where it was collected"},
	}
	if s.title != "" {
		columns = append(columns, document.Column{Name: "title", Type: document.TypeText, From: document.FromTitle, Nullable: true, Searched: true, Doc: "what people call it"})
	}
	for _, c := range s.columns {
		doc := c.doc
		if doc == "" {
			doc = c.at
		}
		columns = append(columns, document.Column{Name: c.name, Type: c.typ, From: document.FromOwn, Nullable: true, Doc: doc})
	}
	if s.version != "" {
		columns = append(columns, document.Column{Name: "updated_at", Type: document.TypeInstant, From: document.FromUpdatedAt, Nullable: true, Doc: "when it changed last"})
	}
	return append(columns,
		document.Column{Name: "deleted", Type: document.TypeBoolean, From: document.FromDeleted, Doc: "whether the upstream shows it no longer"},
		document.Column{Name: "gone_since", Type: document.TypeInstant, From: document.FromGoneSince, Nullable: true, Doc: "since when it is gone, as far as that is known"},
		document.Column{Name: "gone_why", Type: document.TypeText, From: document.FromGoneWhy, Nullable: true, Repeats: true, Doc: "why it is gone"},
		document.Column{Name: "truncated", Type: document.TypeBoolean, From: document.FromTruncated, Doc: "whether its payload was too large to be kept whole"})
}

// Registration is the source as the program knows its sources.
func (s *Source) Registration() source.Registration {
	return source.Registration{
		Description: s.Describe(),
		Walks:       func(source.Settings) (source.Source, error) { return s, nil },
	}
}
