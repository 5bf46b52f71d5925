-- The record system. Portable between SQLite and PostgreSQL: text columns only, identifiers quoted, one primary key a table.
-- A column holds text as it was sent, or, where fields.csv says json, the canonical JSON of what was sent; NULL is "not there".
-- id, version, recordedAt, deleted and the resolved keys belong to the server.

CREATE TABLE "Patient" (
  "id" TEXT PRIMARY KEY, "version" TEXT NOT NULL, "recordedAt" TEXT NOT NULL, "deleted" TEXT NOT NULL DEFAULT '0',
  "identifier" TEXT NOT NULL, "family" TEXT, "given" TEXT, "birthDate" TEXT, "gender" TEXT, "active" TEXT
);

CREATE TABLE "Encounter" (
  "id" TEXT PRIMARY KEY, "version" TEXT NOT NULL, "recordedAt" TEXT NOT NULL, "deleted" TEXT NOT NULL DEFAULT '0',
  "patientId" TEXT NOT NULL REFERENCES "Patient" ("id"),
  "subject" TEXT, "status" TEXT, "class" TEXT, "type" TEXT, "period" TEXT, "reasonCode" TEXT, "participant" TEXT,
  "implicitRules" TEXT, "modifierExtension" TEXT, "extension" TEXT
);

CREATE TABLE "MedicationRequest" (
  "id" TEXT PRIMARY KEY, "version" TEXT NOT NULL, "recordedAt" TEXT NOT NULL, "deleted" TEXT NOT NULL DEFAULT '0',
  "patientId" TEXT NOT NULL REFERENCES "Patient" ("id"), "encounterId" TEXT REFERENCES "Encounter" ("id"),
  "subject" TEXT, "encounter" TEXT, "status" TEXT, "intent" TEXT, "category" TEXT, "priority" TEXT, "doNotPerform" TEXT,
  "medicationCodeableConcept" TEXT, "medicationReference" TEXT, "authoredOn" TEXT, "requester" TEXT, "reasonCode" TEXT,
  "note" TEXT, "dosageInstruction" TEXT, "dispenseRequest" TEXT, "substitution" TEXT, "supportingInformation" TEXT,
  "implicitRules" TEXT, "modifierExtension" TEXT, "extension" TEXT
);

CREATE TABLE "ServiceRequest" (
  "id" TEXT PRIMARY KEY, "version" TEXT NOT NULL, "recordedAt" TEXT NOT NULL, "deleted" TEXT NOT NULL DEFAULT '0',
  "patientId" TEXT NOT NULL REFERENCES "Patient" ("id"), "encounterId" TEXT REFERENCES "Encounter" ("id"),
  "subject" TEXT, "encounter" TEXT, "status" TEXT, "intent" TEXT, "category" TEXT, "priority" TEXT, "doNotPerform" TEXT,
  "code" TEXT, "orderDetail" TEXT, "quantityQuantity" TEXT, "occurrenceDateTime" TEXT, "occurrencePeriod" TEXT, "authoredOn" TEXT,
  "requester" TEXT, "performer" TEXT, "reasonCode" TEXT, "reasonReference" TEXT, "note" TEXT, "patientInstruction" TEXT,
  "implicitRules" TEXT, "modifierExtension" TEXT, "extension" TEXT
);

CREATE TABLE "Observation" (
  "id" TEXT PRIMARY KEY, "version" TEXT NOT NULL, "recordedAt" TEXT NOT NULL, "deleted" TEXT NOT NULL DEFAULT '0',
  "patientId" TEXT NOT NULL REFERENCES "Patient" ("id"), "encounterId" TEXT REFERENCES "Encounter" ("id"),
  "subject" TEXT, "encounter" TEXT, "status" TEXT, "category" TEXT, "code" TEXT, "effectiveDateTime" TEXT, "effectivePeriod" TEXT,
  "issued" TEXT, "performer" TEXT, "valueQuantity" TEXT, "valueCodeableConcept" TEXT, "valueString" TEXT, "valueBoolean" TEXT,
  "valueInteger" TEXT, "dataAbsentReason" TEXT, "interpretation" TEXT, "note" TEXT, "component" TEXT, "basedOn" TEXT,
  "implicitRules" TEXT, "modifierExtension" TEXT, "extension" TEXT
);

CREATE TABLE "AllergyIntolerance" (
  "id" TEXT PRIMARY KEY, "version" TEXT NOT NULL, "recordedAt" TEXT NOT NULL, "deleted" TEXT NOT NULL DEFAULT '0',
  "patientId" TEXT NOT NULL REFERENCES "Patient" ("id"), "encounterId" TEXT REFERENCES "Encounter" ("id"),
  "patient" TEXT, "encounter" TEXT, "clinicalStatus" TEXT, "verificationStatus" TEXT, "type" TEXT, "category" TEXT,
  "criticality" TEXT, "code" TEXT, "onsetDateTime" TEXT, "recordedDate" TEXT, "recorder" TEXT, "note" TEXT, "reaction" TEXT,
  "implicitRules" TEXT, "modifierExtension" TEXT, "extension" TEXT
);

CREATE TABLE "Appointment" (
  "id" TEXT PRIMARY KEY, "version" TEXT NOT NULL, "recordedAt" TEXT NOT NULL, "deleted" TEXT NOT NULL DEFAULT '0',
  "patientId" TEXT NOT NULL REFERENCES "Patient" ("id"),
  "status" TEXT, "serviceType" TEXT, "appointmentType" TEXT, "reasonCode" TEXT, "priority" TEXT, "description" TEXT,
  "start" TEXT, "end" TEXT, "minutesDuration" TEXT, "created" TEXT, "comment" TEXT, "patientInstruction" TEXT, "basedOn" TEXT,
  "participant" TEXT, "implicitRules" TEXT, "modifierExtension" TEXT, "extension" TEXT
);

CREATE TABLE "encounters" (
  "id" TEXT PRIMARY KEY, "version" TEXT NOT NULL, "recordedAt" TEXT NOT NULL, "deleted" TEXT NOT NULL DEFAULT '0',
  "source" TEXT NOT NULL,
  "patient_id" TEXT NOT NULL REFERENCES "Patient" ("id"), "type" TEXT, "note" TEXT, "priority" TEXT, "key" TEXT, "undeclared" TEXT
);

CREATE TABLE "patient_data" (
  "id" TEXT PRIMARY KEY, "version" TEXT NOT NULL, "recordedAt" TEXT NOT NULL, "deleted" TEXT NOT NULL DEFAULT '0',
  "source" TEXT NOT NULL, "pid" TEXT NOT NULL,
  "pubpid" TEXT, "fname" TEXT, "lname" TEXT, "DOB" TEXT, "sex" TEXT, "occupation" TEXT, "undeclared" TEXT
);

-- One row for each order made, written by the record system itself (cascades.csv).
CREATE TABLE "AuditEvent" (
  "id" TEXT PRIMARY KEY, "recordedAt" TEXT NOT NULL, "action" TEXT NOT NULL, "entityType" TEXT NOT NULL, "entityId" TEXT NOT NULL,
  "patientId" TEXT NOT NULL
);

-- Keys of writes that may be sent again: the same key with the same payload has one effect.
CREATE TABLE "WriteKey" (
  "id" TEXT PRIMARY KEY, "digest" TEXT NOT NULL, "entityType" TEXT NOT NULL, "entityId" TEXT NOT NULL
);

-- Writes accepted and not yet applied; empty when the system is at rest.
CREATE TABLE "Pending" ("id" TEXT PRIMARY KEY, "action" TEXT NOT NULL);

CREATE INDEX "Encounter_patient" ON "Encounter" ("patientId");
CREATE INDEX "MedicationRequest_patient" ON "MedicationRequest" ("patientId");
CREATE INDEX "ServiceRequest_patient" ON "ServiceRequest" ("patientId");
CREATE INDEX "Observation_patient" ON "Observation" ("patientId");
CREATE INDEX "AllergyIntolerance_patient" ON "AllergyIntolerance" ("patientId");
CREATE INDEX "Appointment_patient" ON "Appointment" ("patientId");
CREATE INDEX "encounters_patient" ON "encounters" ("patient_id");
CREATE INDEX "patient_data_pubpid" ON "patient_data" ("pubpid");
CREATE INDEX "Patient_identifier" ON "Patient" ("identifier");
