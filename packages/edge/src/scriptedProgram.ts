/** Where the scripted runtime's program lies: beside the bundle in a build, in its package in the sources. */
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

const built = fileURLToPath(new URL("./scripted.mjs", import.meta.url))

export const scriptedProgram = existsSync(built)
  ? built
  : fileURLToPath(new URL("../../adapters/runtime/scripted.mjs", import.meta.url))
