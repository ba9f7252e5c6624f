/**
 * Puts the real programs into a folder outside of the repository, or says why that cannot be.
 */
import { type InstalledProgram, installProgram } from "@corral/testing/process/RegistryProgram"
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import type { Program } from "./Programs.ts"

export interface Installed extends InstalledProgram {
  readonly program: Program
}

/** The newest version in the registry, where that is wanted; otherwise the pinned one. */
const wantedVersion = async ({ package: name, version }: Program): Promise<string> => {
  if (process.env["CORRAL_TEST_VERSIONS"] !== "newest") return version
  const { stdout } = await promisify(execFile)("npm", ["view", name, "version"], { timeout: 60_000 })
  return stdout.trim()
}

/** Installs the pinned or the newest version, unless it is there already. */
export const install = async (pinned: Program): Promise<Installed> => {
  const program = { ...pinned, version: await wantedVersion(pinned) }
  return { program, ...(await installProgram(program)) }
}
