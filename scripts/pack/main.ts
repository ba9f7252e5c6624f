/** `node scripts/pack/main.ts [FOLDER]`: writes the tarballs of all packages into the folder, `dist/packages` by default. */
import { resolve } from "node:path"
import { packInto } from "./pack.ts"

packInto(resolve(process.argv[2] ?? "dist/packages"))
