/** A table that another service holds while it migrates the database. */
import { until } from "../time/Until.ts"
import { query } from "./PostgresServer.ts"

/**
 * Locks the table until a statement of another connection has waited for that long, or 20 s have passed. Resolves once the table is locked, with
 * whether one waited.
 */
export const holdTable = async (
  url: string,
  table: string,
  waited: string
): Promise<{ readonly released: Promise<boolean> }> => {
  const released = query(
    url,
    `DO $$
    DECLARE began timestamptz := clock_timestamp();
    BEGIN
      LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE;
      LOOP
        PERFORM pg_stat_clear_snapshot();
        EXIT WHEN EXISTS (
          SELECT 1 FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > '${waited}'
        );
        IF clock_timestamp() - began > '20 s' THEN RAISE EXCEPTION 'nothing waits'; END IF;
        PERFORM pg_sleep(0.02);
      END LOOP;
    END $$`
  ).then(
    () => true,
    () => false
  )
  await until(async () => {
    const rows = await query(
      url,
      `SELECT 1 FROM pg_locks WHERE relation = '${table}'::regclass AND mode = 'AccessExclusiveLock' AND granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
    )
    return rows.length === 1 ? true : undefined
  }, `the lock of ${table}`)
  return { released }
}
