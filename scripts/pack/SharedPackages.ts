/**
 * Packed packages for a whole test run: packed and installed once, outside the repository. Packing takes several seconds of CPU time.
 * Tests find them as `inject("packages")`.
 */
import { rmSync } from "node:fs"
import type { TestProject } from "vitest/node"
import { join } from "node:path"
import { installPackages } from "./installed.ts"
import { packCommand, packTemplate } from "./pack.ts"

/** Global setup. The returned teardown removes the folder. */
const sharePackages = async (project: TestProject): Promise<() => void> => {
  // As where a release is packed.
  process.env["GITHUB_REPOSITORY"] ??= "example/corral"
  const installed = installPackages()
  packTemplate(join(installed.folder, "template"))
  await packCommand(join(installed.folder, "command"))
  project.provide("packages", installed)
  return () => rmSync(installed.folder, { recursive: true, force: true })
}

export default sharePackages
