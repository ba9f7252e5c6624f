/** Which commands a device's Edge takes, as JSON text; NULL for one that has not said. */
export const commandsMigration = [`ALTER TABLE devices ADD COLUMN commands text`]
