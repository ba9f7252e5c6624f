/**
 * Packed packages for a whole test run: packed and installed once, outside the repository. Packing takes several seconds of CPU time.
 * Tests find them as `inject("packages")`.
 */
import { rmSync } from "node:fs"
import type { TestProject } from "vitest/node"
import { installPackages } from "./installed.ts"

/** Global setup. The returned teardown removes the folder. */
const sharePackages = (project: TestProject): (() => void) => {
  const installed = installPackages()
  project.provide("packages", installed)
  return () => rmSync(installed.folder, { recursive: true, force: true })
}

export default sharePackages
