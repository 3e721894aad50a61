package postgres

import (
	"strings"

	"sluice/internal/backend/relational"
	"sluice/internal/document/views"
)

// replaceView is one statement. A view can be replaced by one that has more columns
// at its end; otherwise it is dropped and made again, and who was allowed to read
// it is allowed again. What others have built on it keeps it as it is.
func replaceView(v *views.View, definition string) []*relational.Statement {
	name, dialect := text(v.Name), views.PostgreSQL()
	block := `DECLARE readers text[]; reader text;
BEGIN
  BEGIN
    ` + v.Create("CREATE OR REPLACE VIEW", dialect) + `;
  EXCEPTION WHEN invalid_table_definition THEN
    readers := ARRAY(SELECT DISTINCT CASE WHEN grantee = 'PUBLIC' THEN 'PUBLIC' ELSE quote_ident(grantee) END
      FROM information_schema.role_table_grants
      WHERE table_schema = current_schema() AND table_name = ` + name + ` AND privilege_type = 'SELECT' AND grantee <> current_user);
    DROP VIEW ` + dialect.Quote(v.Name) + `;
    ` + v.Create("CREATE VIEW", dialect) + `;
    FOREACH reader IN ARRAY readers LOOP
      EXECUTE 'GRANT SELECT ON ' || quote_ident(` + name + `) || ' TO ' || reader;
    END LOOP;
  END;
  INSERT INTO document_view (name, definition) VALUES (` + name + `, ` + text(definition) + `)
    ON CONFLICT (name) DO UPDATE SET definition = excluded.definition;
EXCEPTION WHEN dependent_objects_still_exist THEN
  NULL;
END`
	var do relational.Statement
	do.Write("DO " + text(block))
	return []*relational.Statement{&do}
}

// text is a text between quotation marks, in which a backslash means itself.
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
