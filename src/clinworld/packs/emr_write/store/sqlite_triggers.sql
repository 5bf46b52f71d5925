-- The journal's triggers of one table. {{table}} and the JSON of both rows are filled in.

CREATE TRIGGER "{{table}}_inserted" AFTER INSERT ON "{{table}}" WHEN (SELECT "isOn" FROM "Recording") = 1
BEGIN INSERT INTO "Journal" ("collection", "rowId", "change", "before", "after") VALUES ('{{table}}', NEW."id", 'insert', NULL, {{new}}); END;
CREATE TRIGGER "{{table}}_updated" AFTER UPDATE ON "{{table}}" WHEN (SELECT "isOn" FROM "Recording") = 1
BEGIN INSERT INTO "Journal" ("collection", "rowId", "change", "before", "after") VALUES ('{{table}}', OLD."id", 'update', {{old}}, {{new}}); END;
CREATE TRIGGER "{{table}}_deleted" AFTER DELETE ON "{{table}}" WHEN (SELECT "isOn" FROM "Recording") = 1
BEGIN INSERT INTO "Journal" ("collection", "rowId", "change", "before", "after") VALUES ('{{table}}', OLD."id", 'delete', {{old}}, NULL); END;
