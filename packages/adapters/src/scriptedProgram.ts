/** Address of the scripted runtime's program: beside the bundle in a build, in this package otherwise. */
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

const built = fileURLToPath(new URL("./scripted.mjs", import.meta.url))

export const scriptedProgram = existsSync(built)
  ? built
  : fileURLToPath(new URL("../runtime/scripted.mjs", import.meta.url))
