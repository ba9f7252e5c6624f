/**
 * A PostgreSQL server of the Hub's own, in a folder of its own, reached through a socket that only this user may open. No port.
 *
 * The server outlives a Hub that is killed: the next one finds it and takes it over, and the last Hub to leave stops it. Two Hubs on one
 * folder share one server. It owns the server and not what is in it.
 */
import { Data, Effect, Schedule } from "effect"
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { closeSync, openSync } from "node:fs"
import { chmod, mkdir, open, readFile, rename, rm, stat } from "node:fs/promises"
import { connect } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import { findPostgres, type PostgresCall, type PostgresProgram } from "./PostgresProgram.ts"

/** The server cannot be had; `message` is a sentence for a person. */
export class HubStoreUnavailable extends Data.TaggedError("StoreUnavailable")<{ readonly message: string }> {}

/** How to reach it. */
export interface EmbeddedPostgres {
  /** Path of the socket. */
  readonly path: string
  readonly username: string
  readonly database: string
  /** Restarts it whenever it dies, for as long as this runs. */
  readonly supervise: Effect.Effect<never>
  /** Asks it to stop once everyone has left, and waits until it is gone. */
  readonly stop: Effect.Effect<void>
}

const USER = "corral"
/** Of the folder: another major version does not read its files. */
const VERSION = "18"
const SOCKET = ".s.PGSQL.5432"
/** What the kernel takes for the path of a socket. */
const MAX_SOCKET_PATH = 100

const attempt = <A>(action: () => Promise<A>): Effect.Effect<A, HubStoreUnavailable> =>
  Effect.tryPromise({
    try: action,
    catch: (error) =>
      new HubStoreUnavailable({ message: error instanceof Error ? error.message : String(error) })
  })

/** Runs to its end; rejects with the end of what it said on stderr. */
const finish = ({ file, args, options }: PostgresCall): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(file, args, { ...options, stdio: ["ignore", "ignore", "pipe"] })
    let said = ""
    child.stderr.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-2_000)))
    child.on("error", reject)
    child.on("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`${file} ended with ${code}: ${said}`))
    )
  })

/** Made beside and renamed into place: a folder that is there is whole. */
const makeCluster = async (program: PostgresProgram, data: string): Promise<void> => {
  if (await exists(join(data, "PG_VERSION"))) return
  const fresh = `${data}.${process.pid}.new`
  await rm(fresh, { recursive: true, force: true })
  await mkdir(fresh, { mode: 0o700 })
  await program.own(fresh)
  const choices = ["--username", USER, "--auth=trust", "--encoding=UTF8", "--no-locale", "--data-checksums"]
  await finish(program.call("initdb", ["--pgdata", fresh, ...choices]))
  await rename(fresh, data).catch(async (error: unknown) => {
    // Another Hub was faster.
    await rm(fresh, { recursive: true, force: true })
    if (!(await exists(join(data, "PG_VERSION")))) throw error
  })
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false
  )

/** Starts the server and gives whether it has ended since: at once where another one holds the folder. */
const launch = async (
  program: PostgresProgram,
  folder: string,
  data: string,
  sockets: string
): Promise<() => boolean> => {
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

/** Whether a server holds the folder and takes queries: one that is starting or stopping takes connections and refuses them. */
const serves = async (data: string, path: string): Promise<boolean> => {
  const lines = (await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "")).split("\n")
  // What a server that was killed left behind says so too.
  return lines[STATUS_LINE]?.startsWith("ready") === true && (await takesConnections(path))
}

const STATUS_LINE = 7

const takesConnections = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path)
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
    socket.once("error", () => resolve(false))
  })

/** The process of the server that holds the folder, whether it still lives or not. */
const serverPid = async (data: string): Promise<number | undefined> => {
  const text = await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "")
  const pid = Number.parseInt(text, 10)
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined
}

const lives = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** SIGINT: a fast shutdown, which ends what is connected and writes everything down. */
const stop = (data: string, path: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    const pid = yield* Effect.promise(() => serverPid(data))
    const there = pid !== undefined && (yield* Effect.promise(() => takesConnections(path)))
    if (!there || !lives(pid)) return
    process.kill(pid, "SIGINT")
    yield* Effect.sync(() => lives(pid)).pipe(
      Effect.repeat({ while: (living) => living, schedule: Schedule.spaced("20 millis") }),
      Effect.timeoutOption("5 seconds")
    )
  })

/** Long names of folders leave no room for a socket beside the data. */
const socketFolder = async (folder: string): Promise<string> => {
  if (join(folder, SOCKET).length <= MAX_SOCKET_PATH) return folder
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 16)
  const short = join(tmpdir(), `corral-${userInfo().uid}-${name}`)
  await mkdir(short, { recursive: true, mode: 0o700 })
  const { uid, mode } = await stat(short)
  if (uid !== userInfo().uid || (mode & 0o077) !== 0) throw new Error(`${short} belongs to somebody else.`)
  return short
}

/** Why it does not start, in its own words. */
const lastWord = async (log: string): Promise<string> => {
  const fatal = (await readFile(log, "utf8")).split("\n").findLast((line) => line.includes("FATAL"))
  return `PostgreSQL did not start: ${fatal?.replace(/^.*FATAL: */, "") ?? "it does not say why"}. More is in ${log}.`
}

/** Finds the server of the folder, or starts it; succeeds when it takes queries. */
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
    await program.own(folder)
    await makeCluster(program, data)
  })
  // Another Hub may be starting it too, or what a killed server left may still be going: then ours ends, and is started again.
  let ended = () => true
  const tryOnce = attempt(async () => {
    if (await serves(data, path)) return true
    if (ended()) ended = await launch(program, folder, data, sockets)
    return false
  })
  yield* tryOnce.pipe(
    Effect.repeat({ while: (ready) => !ready, schedule: Schedule.spaced("20 millis") }),
    Effect.timeoutOrElse({
      duration: "30 seconds",
      orElse: () =>
        Effect.flatMap(
          attempt(() => lastWord(join(folder, "server.log"))),
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
  const isGone = Effect.promise(async () => {
    const pid = await serverPid(data)
    return pid === undefined || !lives(pid) || (await isZombie(pid))
  })
  const restart = ensureRunning(folder, data, sockets).pipe(
    Effect.tapError(({ message }) => Effect.logError("failed to restart PostgreSQL", { cause: message })),
    Effect.retry(BACK_OFF),
    Effect.orDie
  )
  return Effect.forever(
    Effect.gen(function* () {
      yield* Effect.repeat(isGone, { until: (gone) => gone, schedule: Schedule.spaced(WATCH_EVERY) })
      yield* Effect.logWarning("PostgreSQL died")
      yield* restart
      yield* Effect.logInfo("restarted PostgreSQL")
    })
  )
}

/** Whether the process is a zombie. The orphaned server of an earlier Hub stays one if no init process reaps it. */
const isZombie = (pid: number): Promise<boolean> =>
  readFile(`/proc/${pid}/stat`, "utf8").then(
    (stat) => stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z"),
    () => false
  )

/** A server on `folder`, running: found or started. It is left running until `stop`. */
export const startEmbeddedPostgres = Effect.fnUntraced(function* (
  folder: string
): Effect.fn.Return<EmbeddedPostgres, HubStoreUnavailable> {
  yield* attempt(() => mkdir(folder, { recursive: true, mode: 0o700 }))
  const data = join(folder, VERSION)
  const sockets = yield* attempt(() => socketFolder(folder))
  const path = join(sockets, SOCKET)
  yield* ensureRunning(folder, data, sockets)
  return {
    path,
    username: USER,
    database: "postgres",
    supervise: supervise(folder, data, sockets),
    stop: stop(data, path)
  }
})
