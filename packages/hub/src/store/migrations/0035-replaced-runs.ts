/** Runs that another run replaces without an act of a user. `replaced_for`: the message that the other run receives. */
export const replacedRunsMigration = ["ALTER TABLE runs ADD COLUMN replaced_for text"]
