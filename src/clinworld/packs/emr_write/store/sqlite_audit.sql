-- An order made leaves one audit row (cascades.csv). {{table}} is filled in.

CREATE TRIGGER "{{table}}_audit" AFTER INSERT ON "{{table}}" WHEN (SELECT "isOn" FROM "Recording") = 1
BEGIN
  INSERT INTO "AuditEvent" VALUES ('audit-' || NEW."id", NEW."recordedAt", 'create', '{{table}}', NEW."id", NEW."patientId");
END;
