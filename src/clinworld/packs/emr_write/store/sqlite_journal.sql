-- The journal: every change of every table as it stood before and after, written by triggers and by nothing else.
-- Recording stops only while a chart is put back as it was; the server's connection may touch neither of these two tables.

CREATE TABLE "Journal" (
  "seq" INTEGER PRIMARY KEY, "collection" TEXT NOT NULL, "rowId" TEXT NOT NULL, "change" TEXT NOT NULL, "before" TEXT, "after" TEXT
);
CREATE TABLE "Recording" ("isOn" INTEGER NOT NULL);
INSERT INTO "Recording" VALUES (1);

CREATE TRIGGER "Journal_keeps_rows" BEFORE DELETE ON "Journal" WHEN (SELECT "isOn" FROM "Recording") = 1
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER "Journal_keeps_values" BEFORE UPDATE ON "Journal"
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
