/** Indexes and columns without which a frequent statement reads a whole table that grows. */
export const growingTablesMigration = [
  // A heartbeat changes no indexed column, so that its row stays on its page: `linked` changes when a link begins and ends.
  `ALTER TABLE devices ADD COLUMN linked boolean NOT NULL DEFAULT false`,
  `UPDATE devices SET linked = true WHERE lease_until IS NOT NULL`,
  `DROP INDEX devices_by_lease`,
  `CREATE INDEX devices_linked ON devices (id) WHERE linked`,
  `ALTER TABLE devices SET (fillfactor = 70)`,

  `CREATE INDEX runs_active ON runs (id) WHERE state NOT IN ('completed', 'failed', 'cancelled')`,

  // When an upload lost a session that it belonged to: the sweep looks whether it was the last one.
  `ALTER TABLE uploads ADD COLUMN released_at timestamptz(3)`,
  `UPDATE uploads u SET released_at = now()
    WHERE is_sent AND NOT EXISTS (SELECT 1 FROM session_uploads s WHERE s.upload_id = u.id)`,
  `CREATE INDEX uploads_released ON uploads (released_at) WHERE released_at IS NOT NULL`,
  `CREATE INDEX uploads_arriving ON uploads (created_at) WHERE NOT is_sent AND sha256 IS NULL`,
  `CREATE FUNCTION uploads_release() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE uploads SET released_at = now() WHERE id IN (SELECT upload_id FROM gone);
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER uploads_released AFTER DELETE ON session_uploads REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION uploads_release()`
]
