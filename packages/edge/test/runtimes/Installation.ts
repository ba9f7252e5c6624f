/**
 * Puts the real programs into a folder outside of the repository, or says why that cannot be.
 */
import { type InstalledProgram, installProgram, noNetwork } from "@corral/testing/process/RegistryProgram"
import { execFile } from "node:child_process"
import { dirname } from "node:path"
import { promisify } from "node:util"
import type { Place, Program } from "./Programs.ts"

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

/** Environment of an Edge whose runs find the program, its home and its model service, and nothing else. */
export const environmentOf = (
  { bin, program }: Installed,
  place: Place
): Readonly<Record<string, string>> => ({
  ...program.settle(place),
  ...noNetwork,
  HOME: place.home,
  // Some runtimes have the address of their model service in a file. A confined run reaches what the owner lists.
  CORRAL_EDGE_RUN_HOSTS: new URL(place.models).host,
  PATH: [bin, dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(":")
})
