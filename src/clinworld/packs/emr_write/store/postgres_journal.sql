-- The journal in PostgreSQL. The triggers' function runs as the owner, so the server's role needs no right to write here, and has none.

CREATE TABLE "Journal" (
  "seq" BIGSERIAL PRIMARY KEY, "collection" TEXT NOT NULL, "rowId" TEXT NOT NULL, "change" TEXT NOT NULL, "before" TEXT, "after" TEXT
);
CREATE TABLE "Recording" ("isOn" INTEGER NOT NULL);
INSERT INTO "Recording" VALUES (1);

CREATE FUNCTION "journal_change"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = {{schema}} AS $$
BEGIN
  IF (SELECT "isOn" FROM "Recording") = 1 THEN
    IF TG_OP = 'INSERT' THEN
      INSERT INTO "Journal" ("collection", "rowId", "change", "after") VALUES (TG_TABLE_NAME, NEW."id", 'insert', row_to_json(NEW)::text);
    ELSIF TG_OP = 'UPDATE' THEN
      INSERT INTO "Journal" ("collection", "rowId", "change", "before", "after")
        VALUES (TG_TABLE_NAME, OLD."id", 'update', row_to_json(OLD)::text, row_to_json(NEW)::text);
    ELSE
      INSERT INTO "Journal" ("collection", "rowId", "change", "before") VALUES (TG_TABLE_NAME, OLD."id", 'delete', row_to_json(OLD)::text);
    END IF;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION "audit_create"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = {{schema}} AS $$
BEGIN
  IF (SELECT "isOn" FROM "Recording") = 1 THEN
    INSERT INTO "AuditEvent" VALUES ('audit-' || NEW."id", NEW."recordedAt", 'create', TG_TABLE_NAME, NEW."id", NEW."patientId");
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION "keep_journal"() RETURNS trigger LANGUAGE plpgsql SET search_path = {{schema}} AS $$
BEGIN
  IF TG_OP <> 'DELETE' OR (SELECT "isOn" FROM "Recording") = 1 THEN
    RAISE EXCEPTION 'the journal is append-only';
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER "Journal_keeps" BEFORE UPDATE OR DELETE ON "Journal" FOR EACH ROW EXECUTE FUNCTION "keep_journal"();
CREATE TRIGGER "Journal_stays" BEFORE TRUNCATE ON "Journal" FOR EACH STATEMENT EXECUTE FUNCTION "keep_journal"();
