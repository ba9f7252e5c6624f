/** Time that one commit takes, measured by the server: what the Hub measures includes its own load. */
export const commitTimeMigration = [
  `CREATE PROCEDURE corral_commit_time(INOUT ms double precision) LANGUAGE plpgsql AS $$
    DECLARE
      beganAt timestamptz;
    BEGIN
      PERFORM pg_logical_emit_message(true, 'corral', 'commit time');
      beganAt := clock_timestamp();
      COMMIT;
      ms := extract(epoch FROM clock_timestamp() - beganAt) * 1000;
    END
  $$`
]
