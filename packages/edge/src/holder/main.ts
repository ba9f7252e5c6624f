/**
 * `holder.cjs HOME BUILD`: holds the processes of an Edge's runs until they end, or until no Edge has returned for too long.
 *
 * Writes one JSON line to descriptor 3 when it listens, or when it cannot. Stored output of a dead holder is deleted at the start.
 */
import { randomBytes } from "node:crypto"
import {
  appendFileSync,
  chmodSync,
  closeSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync
} from "node:fs"
import { createServer, type Socket } from "node:net"
import { join } from "node:path"
import { keepFolderPrivate } from "../process/PrivateFolder.ts"
import { HolderConnection } from "./HolderConnection.ts"
import { HolderFolder, holderKeyFile, holderPlaceOf, holderProblemFile } from "./HolderPlace.ts"
import { RunHolder } from "./RunHolder.ts"

const READY = 3
const MAX_LOG = 65_536

const [, , home = "", build = ""] = process.argv
const place = holderPlaceOf(home)
const { folder, socket, socketFolder } = place

const report = (problem: string): void => {
  try {
    const file = holderProblemFile(folder)
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MAX_LOG) rmSync(file)
    appendFileSync(file, `${new Date().toISOString()} ${problem}\n`, { mode: 0o600 })
  } catch {
    // The home is gone or full.
  }
}

const fail = (reason: string): never => {
  answer({ error: reason })
  process.exit(1)
}

const answer = (line: object): void => {
  try {
    writeSync(READY, `${JSON.stringify(line)}\n`)
    closeSync(READY)
  } catch {
    // The Edge has died meanwhile.
  }
}

/** Called before the holder serves, and only by the one that listens. */
const begin = (): Buffer => {
  chmodSync(socket, 0o600)
  for (const name of readdirSync(folder))
    if (name.endsWith(".out")) rmSync(join(folder, name), { recursive: true, force: true })
  const key = randomBytes(32).toString("hex")
  const file = holderKeyFile(folder)
  rmSync(file, { recursive: true, force: true })
  writeFileSync(file, key, { mode: 0o600, flag: "wx" })
  return Buffer.from(key)
}

const serve = (): void => {
  const server = createServer()
  server.once("error", (error: NodeJS.ErrnoException) => fail(error.code ?? error.message))
  server.listen(socket, () => {
    const key = begin()
    const exit = () => process.exit(0)
    const onConnection = (connection: Socket) => void new HolderConnection(connection, holder)
    const onReplaced = () => void holder.endAll()
    const files = new HolderFolder(server, { place, key, onConnection, onReplaced, report })
    const holder = new RunHolder({ folder, key, build, server: files, now: Date.now, exit, report })
    server.on("connection", onConnection)
    server.removeAllListeners("error").on("error", ({ message }) => report(message))
    process.on("SIGTERM", () => void holder.endAll())
    process.removeAllListeners("uncaughtException")
    process.on("uncaughtException", (error) => report(error.stack ?? error.message))
    process.on("unhandledRejection", (reason) => report(String(reason)))
    answer({ ready: true })
  })
}

process.once("uncaughtException", ({ message }) => fail(message))
for (const signal of ["SIGHUP", "SIGINT", "SIGPIPE"] as const) process.on(signal, () => undefined)
keepFolderPrivate(folder)
keepFolderPrivate(socketFolder)
serve()
