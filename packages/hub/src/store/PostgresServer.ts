/**
 * Server process of a PostgreSQL data folder: its start and stop, and whether it serves. The process outlives the Hub that started it, so its id
 * comes from the folder.
 *
 * Guarantees: a number in the folder is no identity. After a power loss it may belong to any process, so the process must be PostgreSQL and work in
 * the folder.
 */
import { Effect, Schedule } from "effect"
import { spawn } from "node:child_process"
import { closeSync, existsSync, openSync } from "node:fs"
import { open, readFile, readlink, realpath, rm } from "node:fs/promises"
import { connect } from "node:net"
import { basename, join } from "node:path"
import type { PostgresProgram } from "./PostgresProgram.ts"

/** Line of the lock file that has the server's state. */
const STATUS_LINE = 7

/** Starts the server. Returns whether it has exited since; it exits immediately if another server uses the folder. */
export const launchServer = async (
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
export const serves = async (data: string, path: string): Promise<boolean> => {
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
export const hasServerEnded = async (data: string): Promise<boolean> => (await serverPid(data)) === undefined

/** SIGINT is a fast shutdown: connections end, data is written to disk. */
export const stopServer = (data: string, path: string): Effect.Effect<void> =>
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
