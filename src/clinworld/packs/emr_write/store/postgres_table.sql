-- The journal's trigger of one table, and what the two roles may do with it. {{table}}, {{server}} and {{oracle}} are filled in.

CREATE TRIGGER "{{table}}_journal" AFTER INSERT OR UPDATE OR DELETE ON "{{table}}" FOR EACH ROW EXECUTE FUNCTION "journal_change"();
GRANT SELECT, INSERT, UPDATE, DELETE ON "{{table}}" TO "{{server}}";
GRANT SELECT ON "{{table}}" TO "{{oracle}}";
