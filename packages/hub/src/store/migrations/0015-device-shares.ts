/**
 * View of the valid shares of devices. A share is valid while the device's owner may manage devices in the project. Queries read the view;
 * only sharing a device writes the table.
 */
export const deviceSharesMigration = [
  `CREATE VIEW device_shares AS
    SELECT s.device_id, s.project_id FROM device_projects s
      JOIN devices d ON d.id = s.device_id
      JOIN project_members o ON o.project_id = s.project_id AND o.user_id = d.owner_id
    WHERE o.role IN ('admin', 'owner')`,
  `DELETE FROM device_projects s WHERE NOT EXISTS (
    SELECT 1 FROM device_shares e WHERE e.device_id = s.device_id AND e.project_id = s.project_id)`
]
