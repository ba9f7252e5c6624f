/** Commands that a device's Edge supports, as JSON text; NULL for an Edge that does not list them. */
export const commandsMigration = [`ALTER TABLE devices ADD COLUMN commands text`]
