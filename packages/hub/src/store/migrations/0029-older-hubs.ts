/**
 * Lets Hubs of 0.2.0 work on this database during an upgrade: they know no column `linked`, so it follows the lease that they write. Hubs of later versions
 * write both, and never run the function. To be removed with the release after the next one.
 */
export const olderHubsMigration = [
  `CREATE FUNCTION devices_follow_lease() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.linked := NEW.lease_until IS NOT NULL;
      RETURN NEW;
    END
  $$`,
  `CREATE TRIGGER devices_of_older_hubs BEFORE UPDATE OF lease_until ON devices
    FOR EACH ROW WHEN ((NEW.lease_until IS NULL) = NEW.linked) EXECUTE FUNCTION devices_follow_lease()`,
  `UPDATE devices SET linked = lease_until IS NOT NULL WHERE linked <> (lease_until IS NOT NULL)`
]
