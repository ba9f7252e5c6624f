/** Programs from the package registry, in a folder outside of the repository, or the reason why one cannot be used here. */
import { execFile } from "node:child_process"
import { mkdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"

const call = promisify(execFile)

/** Environment of a program that reaches only this machine. */
export const noNetwork = {
  HTTP_PROXY: "http://127.0.0.1:9",
  HTTPS_PROXY: "http://127.0.0.1:9",
  NO_PROXY: "127.0.0.1,localhost"
} as const

export interface RegistryProgram {
  readonly package: string
  /** Exact. */
  readonly version: string
  readonly command: string
  /** The package installs the program with its own script. */
  readonly needsScripts?: boolean
}

export interface InstalledProgram {
  /** The folder with the command, to be put on PATH. */
  readonly bin: string
  /** Why it cannot be driven here; `undefined` where it can. */
  readonly missing: string | undefined
}

/** The first line with text, of any thrown value. */
export const reasonOf = (cause: unknown): string => {
  const output = String((cause as { readonly stderr?: unknown }).stderr ?? "") || String(cause)
  const lines = output.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("npm warn"))
  return (lines[0] ?? "no reason given").slice(0, 200)
}

/** Installed programs are kept there from one time to the next. */
export const programFolder = process.env["CORRAL_TEST_RUNTIMES_DIR"] ?? join(tmpdir(), "corral-runtimes")

/** A registry that cannot be reached is one skip, not minutes of retries. */
export const registryOptions = [
  "--no-audit",
  "--no-fund",
  "--fetch-retries=1",
  "--fetch-retry-mintimeout=1000"
] as const

/** Installs this version, unless it is there already. */
export const installProgram = async (program: RegistryProgram): Promise<InstalledProgram> => {
  const { command, needsScripts, version } = program
  const prefix = join(programFolder, `${command}-${version}`)
  const bin = join(prefix, "node_modules", ".bin")
  const home = join(programFolder, "home")
  mkdirSync(home, { recursive: true })
  const answers = async (): Promise<boolean> => {
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: home, ...noNetwork }
    const { stderr, stdout } = await call(join(bin, command), ["--version"], { env, timeout: 30_000 })
    return `${stdout}${stderr}`.includes(version)
  }
  if (await answers().catch(() => false)) return { bin, missing: undefined }
  const options = [
    "--no-save",
    ...registryOptions,
    // What is about to be run may as well put itself in place; nothing else may.
    `--ignore-scripts=${needsScripts === true ? "false" : "true"}`
  ]
  try {
    // Half an installation would be taken for a whole one.
    rmSync(prefix, { recursive: true, force: true })
    mkdirSync(prefix, { recursive: true })
    await call("npm", ["install", "--prefix", prefix, ...options, `${program.package}@${version}`], {
      timeout: 300_000
    })
  } catch (cause) {
    return { bin, missing: `npm could not install it: ${reasonOf(cause)}` }
  }
  try {
    const problem = (await answers()) ? undefined : `it does not say that it is ${version}`
    return { bin, missing: problem }
  } catch (cause) {
    return { bin, missing: `it does not start on this machine: ${reasonOf(cause)}` }
  }
}
