/** Address of the bridge's program: beside the bundle in a build, in this package otherwise. */
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

const built = fileURLToPath(new URL("./opencode-bridge.mjs", import.meta.url))

export const openCodeBridge = existsSync(built)
  ? built
  : fileURLToPath(new URL("../runtime/opencode-bridge.mjs", import.meta.url))
