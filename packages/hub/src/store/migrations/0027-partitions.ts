/**
 * Events in partitions by the time of their runs, which the ids contain. The rows so far become the first partition, without being copied: this
 * reads them once, to check their range. `RunPartitions` adds further ones.
 */
export const partitionsMigration = [
  // The smallest id of a run that was created then.
  `CREATE FUNCTION corral_first_run_id(at timestamptz) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
    DECLARE
      millis bigint := floor(extract(epoch FROM at) * 1000);
      digits text := '';
    BEGIN
      FOR i IN 1..10 LOOP
        digits := substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (millis % 32)::int + 1, 1) || digits;
        millis := millis / 32;
      END LOOP;
      RETURN 'run_' || digits;
    END
  $$`,
  `ALTER TABLE run_events RENAME TO run_events_before`,
  `ALTER INDEX run_events_pkey RENAME TO run_events_before_pkey`,
  `ALTER TABLE run_events_before RENAME CONSTRAINT run_events_run_id_fkey TO run_events_before_run_id_fkey`,
  `CREATE TABLE run_events (LIKE run_events_before, PRIMARY KEY (run_id, last_seq)) PARTITION BY RANGE (run_id)`,
  `ALTER TABLE run_events ADD CONSTRAINT run_events_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE`,
  // Ids of another time than now, for example of a machine whose clock was wrong.
  `CREATE TABLE run_events_default PARTITION OF run_events DEFAULT`,
  `DO $$
    DECLARE
      upper_id text := corral_first_run_id(date_trunc('week', now(), 'UTC') + interval '1 week');
    BEGIN
      WITH later AS (DELETE FROM run_events_before WHERE run_id >= upper_id RETURNING *)
        INSERT INTO run_events_default SELECT * FROM later;
      EXECUTE format('ALTER TABLE run_events_before ADD CONSTRAINT run_events_before_range CHECK (run_id < %L)', upper_id);
      EXECUTE format('ALTER TABLE run_events ATTACH PARTITION run_events_before FOR VALUES FROM (MINVALUE) TO (%L)', upper_id);
      ALTER TABLE run_events_before DROP CONSTRAINT run_events_before_range;
    END
  $$`
]
