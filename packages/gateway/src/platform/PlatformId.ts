/** Id that a platform assigned: printable ASCII, 1 to 128 characters. Safe in a key, a log and a database. */
import { Schema } from "effect"

export const PlatformId = Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,128}$/u))
