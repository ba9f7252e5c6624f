/**
 * `node scripts/pack/main.ts [FOLDER]`: writes the tarballs of all packages into the folder, `dist/packages` by default, and those of the command
 * into `command` below it.
 */
import { join, resolve } from "node:path"
import { packCommand, packInto } from "./pack.ts"

const to = resolve(process.argv[2] ?? "dist/packages")
packInto(to)
await packCommand(join(to, "command"))
