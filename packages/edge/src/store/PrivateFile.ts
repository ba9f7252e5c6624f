/** Files that only their owner can read. */
import { chmodSync, closeSync, openSync } from "node:fs"

/** Creates the file with its owner's permissions first, because SQLite gives its side files the mode of the database. */
export const keepPrivate = (file: string): void => {
  closeSync(openSync(file, "a", 0o600))
  chmodSync(file, 0o600)
}
