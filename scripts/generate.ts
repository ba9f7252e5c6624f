/**
 * Writes the generated documents. Run from the root of the repository: `npm run generate`.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { generated } from "./generated.ts"

for (const [path, contents] of generated()) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, contents)
  console.log(path)
}
