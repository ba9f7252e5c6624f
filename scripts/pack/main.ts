/**
 * `node scripts/pack/main.ts [FOLDER]`: writes the tarballs of all packages into the folder, `dist/packages` by default, those of the
 * command into `command` below it, the template for adapters into `template`, and their order of
 * publication into `publication.txt`.
 */
import { join, resolve } from "node:path"
import { packCommand, packInto, packTemplate } from "./pack.ts"
import { writePublication } from "./Publication.ts"

const to = resolve(process.argv[2] ?? "dist/packages")
packInto(to)
packTemplate(join(to, "template"))
await packCommand(join(to, "command"))
writePublication(to)
