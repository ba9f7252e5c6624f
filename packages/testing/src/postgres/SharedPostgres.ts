/**
 * One PostgreSQL for a whole test run, with a separate database for each caller. Starting a server takes a second of CPU time, copying a
 * database a tenth. The process that runs the tests starts the server on the first request and stops it at the end.
 *
 * Does not survive a loss of power (`fsync=off`). Tests kill processes that use the server, not the machine.
 */
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { connect, createServer, type Server } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { until, within } from "../time/Until.ts"
import { folderInMemory } from "../files/TemporaryFiles.ts"
import { type PostgresServer, query, startPostgres } from "./PostgresServer.ts"
import { statementLogSettings } from "./StatementLog.ts"

const SOCKET_VARIABLE = "CORRAL_TEST_POSTGRES"
const PREPARED = "corral_prepared"
/** Folder for a log of all statements. */
const STATEMENTS_VARIABLE = "CORRAL_TEST_STATEMENTS"

const built = process.env["CORRAL_TEST_ENTRY"] === "dist"
const corral = fileURLToPath(
  new URL(built ? "../../../../dist/corral/index.js" : "../../../cli/src/main.ts", import.meta.url)
)

/** Starts the server with a database that has a Hub's tables, as a template. */
const startPrepared = async (): Promise<PostgresServer> => {
  const log = process.env[STATEMENTS_VARIABLE]
  const server = await startPostgres(
    ["fsync=off", "full_page_writes=off", ...(log === undefined ? [] : statementLogSettings(log))],
    folderInMemory()
  )
  await until(() => query(server.url, "SELECT 1").catch(() => undefined), "the shared PostgreSQL")
  await query(server.url, `CREATE DATABASE ${PREPARED}`)
  await promisify(execFile)(process.execPath, [corral, "hub", "migrate"], {
    env: { ...process.env, CORRAL_DATABASE_URL: new URL(`/${PREPARED}`, server.url).href }
  })
  return server
}

/** Global setup: opens the socket on which tests request the server. The returned teardown closes it and stops the server. */
export const setup = async (): Promise<() => Promise<void>> => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-door-"))
  let server: Promise<PostgresServer> | undefined
  const listener: Server = createServer((socket) => {
    socket.on("error", () => undefined)
    server ??= startPrepared()
    server.then(({ url }) => socket.end(url)).catch((error: Error) => socket.destroy(error))
  })
  const path = join(folder, "door")
  await new Promise<void>((resolve) => listener.listen(path, resolve))
  process.env[SOCKET_VARIABLE] = path
  return async () => {
    listener.close()
    await (await server)?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

const socketPath = (): string => {
  const path = process.env[SOCKET_VARIABLE]
  if (path === undefined) throw new Error("this test runner has no `globalSetup` with a PostgreSQL")
  return path
}

/** Folder that all tests of a run share. It is removed after them. */
export const folderOfRun = (): string => dirname(socketPath())

/** URL of the server's default database, as its superuser. */
export const sharedServer = async (): Promise<string> => {
  const url = await within(text(connect(socketPath())), 30_000, "the shared PostgreSQL")
  if (url === "") throw new Error("the shared PostgreSQL did not start")
  return url
}

/** A database for one caller, with a Hub's tables if `prepared`. */
export const makeDatabase = async (
  server: string,
  { prepared }: { readonly prepared: boolean }
): Promise<string> => {
  const name = `corral_test_${randomBytes(6).toString("hex")}`
  await query(server, `CREATE DATABASE ${name}${prepared ? ` TEMPLATE ${PREPARED} STRATEGY FILE_COPY` : ""}`)
  return new URL(`/${name}`, server).href
}

/** Drops a database, also while clients are connected to it. */
export const dropDatabase = async (url: string): Promise<void> => {
  const server = new URL("/postgres", url).href
  await query(server, `DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
}
