/**
 * PostgreSQL server that the Hub runs in its own folder: its start and stop, and whether it serves. Reached through a socket that only
 * this user may open; it has no port.
 *
 * Guarantees: the server survives a killed Hub, the next Hub takes it over, and the last Hub to stop also stops the server. Hubs with
 * the same folder share one server. The process outlives the Hub that started it, so its id comes from the folder, where a number is
 * no identity. After a power loss it may belong to any process, so the process must be PostgreSQL and work in the folder. Does not own
 * the data; `Database` does.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { Data, Effect, Schedule } from "effect"
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { closeSync, existsSync, openSync } from "node:fs"
import { chmod, mkdir, open, readFile, readlink, realpath, rename, rm, stat } from "node:fs/promises"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { findPostgres, type PostgresCall, type PostgresProgram } from "./PostgresProgram.ts"

/** Line of the lock file that has the server's state. */
const STATUS_LINE = 7

/** Starts the server. Returns whether it has exited since; it exits immediately if another server uses the folder. */
const launchServer = async (
  program: PostgresProgram,
  folder: string,
  data: string,
  sockets: string
): Promise<() => boolean> => {
  await removeForeignLock(data)
  const log = join(folder, "server.log")
  await (await open(log, "a", 0o600)).close()
  const output = openSync(log, "a")
  const settings = [
    "listen_addresses=",
    `unix_socket_directories=${sockets}`,
    "unix_socket_permissions=0700",
    "max_connections=100"
  ]
  const call = program.call("postgres", ["-D", data, ...settings.flatMap((setting) => ["-c", setting])])
  try {
    const stdio: ["ignore", number, number] = ["ignore", output, output]
    const child = spawn(call.file, call.args, { ...call.options, cwd: folder, detached: true, stdio })
    let ended = false
    child.once("error", () => (ended = true))
    child.once("exit", () => (ended = true))
    child.unref()
    return () => ended
  } finally {
    closeSync(output)
  }
}

/** Whether a server uses the folder and accepts queries. While starting or stopping, a server refuses connections. */
const serves = async (data: string, path: string): Promise<boolean> => {
  const lines = (await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "")).split("\n")
  // The file of a killed server says so too.
  return lines[STATUS_LINE]?.startsWith("ready") === true && (await takesConnections(path))
}

const takesConnections = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path)
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
    socket.once("error", () => resolve(false))
  })

/** Process id in the folder's lock file. The process may have exited. */
const lockedPid = async (data: string): Promise<number | undefined> => {
  const text = await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "")
  const pid = Number.parseInt(text, 10)
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Whether the process is a zombie. The orphaned server of an earlier Hub stays one if no init process reaps it. */
const isZombie = (pid: number): Promise<boolean> =>
  readFile(`/proc/${pid}/stat`, "utf8").then(
    (stat) => stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z"),
    () => false
  )

const hasProc = existsSync("/proc/self/cwd")

/** Whether the process is PostgreSQL and works in the folder, as every server does. Without `/proc`, the number decides. */
const isServerOf = async (pid: number, data: string): Promise<boolean> => {
  if (!hasProc) return true
  try {
    const [program, place] = await Promise.all([readlink(`/proc/${pid}/exe`), readlink(`/proc/${pid}/cwd`)])
    // The link of a program that was replaced meanwhile says so.
    return basename(program.replace(/ \(deleted\)$/, "")) === "postgres" && place === (await realpath(data))
  } catch {
    // It has ended, or belongs to another user.
    return false
  }
}

/** The living server of the folder. */
const serverPid = async (data: string): Promise<number | undefined> => {
  const pid = await lockedPid(data)
  const isAlive = pid !== undefined && isRunning(pid) && !(await isZombie(pid))
  return isAlive && (await isServerOf(pid, data)) ? pid : undefined
}

/** Removes a lock file whose number belongs to another program now: PostgreSQL would not start next to it. */
const removeForeignLock = async (data: string): Promise<void> => {
  const pid = await lockedPid(data)
  if (pid !== undefined && isRunning(pid) && !(await isZombie(pid)) && !(await isServerOf(pid, data)))
    await rm(join(data, "postmaster.pid"), { force: true })
}

/** Whether the server of the folder has ended. */
const hasServerEnded = async (data: string): Promise<boolean> => (await serverPid(data)) === undefined

/** SIGINT is a fast shutdown: connections end, data is written to disk. */
const stopServer = (data: string, path: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    const pid = yield* Effect.promise(() => serverPid(data))
    const isServing = pid !== undefined && (yield* Effect.promise(() => takesConnections(path)))
    if (!isServing) return
    process.kill(pid, "SIGINT")
    yield* Effect.sync(() => isRunning(pid)).pipe(
      Effect.repeat({ while: (isAlive) => isAlive, schedule: Schedule.spaced("20 millis") }),
      Effect.timeoutOption("5 seconds")
    )
  })

/** The server can't be reached or started. `message` is for users. */
export class HubStoreUnavailable extends Data.TaggedError("StoreUnavailable")<{ readonly message: string }> {}

/** A running server and how to reach it. */
export interface EmbeddedPostgres {
  /** Path of the socket. */
  readonly path: string
  readonly username: string
  readonly database: string
  /** Restarts the server whenever it dies. */
  readonly supervise: Effect.Effect<never>
  /** Stops the server and waits for its exit. */
  readonly stop: Effect.Effect<void>
}

const USER = "corral"
const DATABASE = "postgres"
/** Name of the data folder: another major version can't read its files. */
const VERSION = "18"
const SOCKET = ".s.PGSQL.5432"
/** Limit of the kernel for the path of a socket. */
const MAX_SOCKET_PATH = 100

const attempt = <A>(action: () => Promise<A>): Effect.Effect<A, HubStoreUnavailable> =>
  Effect.tryPromise({
    try: action,
    catch: (error) =>
      new HubStoreUnavailable({ message: error instanceof Error ? error.message : String(error) })
  })

/** Runs a program to completion. Rejects with the end of its stderr. */
const finish = ({ file, args, options }: PostgresCall): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(file, args, { ...options, stdio: ["ignore", "ignore", "pipe"] })
    let stderr = ""
    child.stderr.on("data", (chunk: Buffer) => (stderr = (stderr + chunk.toString()).slice(-2_000)))
    child.on("error", reject)
    child.on("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`${file} exited with ${code}: ${stderr}`))
    )
  })

/** Creates the data folder next to its place and renames it, so that an existing folder is always complete. */
const createCluster = async (program: PostgresProgram, data: string): Promise<void> => {
  if (await exists(join(data, "PG_VERSION"))) return
  const fresh = `${data}.${process.pid}.new`
  await rm(fresh, { recursive: true, force: true })
  await mkdir(fresh, { mode: 0o700 })
  await program.takeOwnership(fresh)
  const choices = ["--username", USER, "--auth=trust", "--encoding=UTF8", "--no-locale", "--data-checksums"]
  await finish(program.call("initdb", ["--pgdata", fresh, ...choices]))
  await rename(fresh, data).catch(async (error: unknown) => {
    // Another Hub has created it.
    await rm(fresh, { recursive: true, force: true })
    if (!(await exists(join(data, "PG_VERSION")))) throw error
  })
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false
  )

/** A folder with a long path has no room for a socket next to the data. */
const socketFolder = async (folder: string): Promise<string> => {
  if (join(folder, SOCKET).length <= MAX_SOCKET_PATH) return folder
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 16)
  const short = join(tmpdir(), `corral-${process.getuid?.() ?? 0}-${name}`)
  makeFolder(short)
  const { uid, mode } = await stat(short)
  if (uid !== (process.getuid?.() ?? uid) || (mode & 0o077) !== 0)
    throw new Error(`${short} belongs to another user. Remove it or set TMPDIR to another folder.`)
  return short
}

/** The server's own reason why it does not start. */
const startFailure = async (log: string): Promise<string> => {
  const fatal = (await readFile(log, "utf8")).split("\n").findLast((line) => line.includes("FATAL"))
  return `PostgreSQL did not start: ${fatal?.replace(/^.*FATAL: */, "") ?? "no reason given"}. See ${log}.`
}

/** Finds or starts the server of the folder. Succeeds when it accepts queries. */
const ensureRunning = Effect.fnUntraced(function* (
  folder: string,
  data: string,
  sockets: string
): Effect.fn.Return<void, HubStoreUnavailable> {
  const path = join(sockets, SOCKET)
  if (yield* attempt(() => serves(data, path))) return
  const program = yield* attempt(() => findPostgres(folder))
  yield* attempt(async () => {
    await chmod(folder, 0o700)
    await program.takeOwnership(folder)
    await createCluster(program, data)
  })
  // Another Hub may be starting the server too, or processes of a killed server may still be running. Then this server exits and is started again.
  let ended = () => true
  const tryOnce = attempt(async () => {
    if (await serves(data, path)) return true
    if (ended()) ended = await launchServer(program, folder, data, sockets)
    return false
  })
  yield* tryOnce.pipe(
    Effect.repeat({ while: (ready) => !ready, schedule: Schedule.spaced("20 millis") }),
    Effect.timeoutOrElse({
      duration: "30 seconds",
      orElse: () =>
        Effect.flatMap(
          attempt(() => startFailure(join(folder, "server.log"))),
          (message) => Effect.fail(new HubStoreUnavailable({ message }))
        )
    })
  )
})

/** How soon a dead server is noticed. */
const WATCH_EVERY = "500 millis"
const BACK_OFF = Schedule.min([Schedule.exponential("500 millis"), Schedule.spaced("30 seconds")])

/** Restarts the server after every exit. Committed data is in its write-ahead log. */
const supervise = (folder: string, data: string, sockets: string): Effect.Effect<never> => {
  const restart = ensureRunning(folder, data, sockets).pipe(
    Effect.tapError(({ message }) => Effect.logError("failed to restart PostgreSQL", { cause: message })),
    Effect.retry(BACK_OFF),
    Effect.orDie
  )
  return Effect.forever(
    Effect.gen(function* () {
      yield* Effect.repeat(
        Effect.promise(() => hasServerEnded(data)),
        { until: (ended) => ended, schedule: Schedule.spaced(WATCH_EVERY) }
      )
      yield* Effect.logWarning("PostgreSQL died")
      yield* restart
      yield* Effect.logInfo("restarted PostgreSQL")
    })
  )
}

/** How to reach the server of `folder`; `undefined` if it does not run. Starts nothing, and creates nothing. */
export const findEmbeddedPostgres = async (
  folder: string
): Promise<Pick<EmbeddedPostgres, "path" | "username" | "database"> | undefined> => {
  const data = join(folder, VERSION)
  if (!(await exists(data))) return undefined
  const path = join(await socketFolder(folder), SOCKET)
  return (await serves(data, path)) ? { path, username: USER, database: DATABASE } : undefined
}

/** Finds or starts the server of `folder`. It runs until `stop`. */
export const startEmbeddedPostgres = Effect.fnUntraced(function* (
  folder: string
): Effect.fn.Return<EmbeddedPostgres, HubStoreUnavailable> {
  yield* attempt(async () => makeFolder(folder))
  const data = join(folder, VERSION)
  const sockets = yield* attempt(() => socketFolder(folder))
  const path = join(sockets, SOCKET)
  yield* ensureRunning(folder, data, sockets)
  return {
    path,
    username: USER,
    database: DATABASE,
    supervise: supervise(folder, data, sockets),
    stop: stopServer(data, path)
  }
})
