/**
 * npm as users of packages have it: a folder outside the repository, its own home and cache, and a registry on loopback.
 *
 * Guarantees: npm reads no other settings and reaches no other registry. `close` ends every program that still runs.
 */
import { RunningProgram } from "@corral/testing/process/RunningProgram"
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { startLoopbackRegistry } from "./LoopbackRegistry.ts"

export interface ProgramOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
}

export interface NpmEnvironment {
  /** Home of the user, with real path. */
  readonly folder: string
  /** Empty at the start. Programs run here by default. */
  readonly empty: string
  /** `corral`'s home, which does not exist at the start. */
  readonly home: string
  /** All variables of each program. */
  readonly env: NodeJS.ProcessEnv
  /** In a separate group, which a terminal's Ctrl-C reaches as a whole. `env` adds to that of the environment. */
  readonly start: (command: string, args: ReadonlyArray<string>, options?: ProgramOptions) => RunningProgram
  /** Runs npm in a folder to its end. */
  readonly npm: (cwd: string, ...args: ReadonlyArray<string>) => RunningProgram["done"]
  readonly close: () => Promise<void>
}

/** `writeTarballs` writes what the registry serves into a folder. */
export const openNpmEnvironment = async (
  writeTarballs: (folder: string) => void
): Promise<NpmEnvironment> => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-npm-")))
  const [tarballs, empty, home] = [join(folder, "tarballs"), join(folder, "empty"), join(folder, "corral")]
  for (const each of [tarballs, empty]) mkdirSync(each)
  writeTarballs(tarballs)
  const registry = await startLoopbackRegistry(tarballs)
  const running: Array<RunningProgram> = []
  const env: NodeJS.ProcessEnv = {
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: folder,
    CORRAL_HOME: home,
    npm_config_registry: registry.url,
    npm_config_cache: join(folder, "npm"),
    npm_config_userconfig: join(folder, "npmrc"),
    npm_config_audit: "false",
    npm_config_fund: "false"
  }
  const start: NpmEnvironment["start"] = (command, args, { cwd = empty, env: more } = {}) => {
    const program = new RunningProgram(command, args, { cwd, env: { ...env, ...more }, detached: true })
    running.push(program)
    return program
  }
  return {
    folder,
    empty,
    home,
    env,
    start,
    npm: (cwd, ...args) => start("npm", args, { cwd }).done,
    close: async () => {
      for (const { child } of running)
        if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
          process.kill(-child.pid, "SIGKILL")
      await Promise.all(running.map(({ ended }) => ended))
      await registry.close()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
