/** `npm run api`: writes the public interface of each package to `api`, from its declarations. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { apiReports } from "./pack/ApiReport.ts"
import { root } from "./pack/Modules.ts"

mkdirSync(join(root, "api"), { recursive: true })
for (const [path, text] of apiReports()) writeFileSync(join(root, path), text)
