/**
 * External PostgreSQL as an operator would run one: on a loopback port, with a password. Uses the programs of the embedded one.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { randomBytes, randomInt } from "node:crypto"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client } from "pg"
import { within } from "../time/Until.ts"
import { findPostgres } from "@corral/hub/store/PostgresProgram"

export interface PostgresServer {
  /** URL of an existing database, as its superuser. */
  readonly url: string
  /** Stops the server immediately, with its connections, and starts it again on the same port. */
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** A port of this machine that no program listens on. It is outside the range from which systems choose, so no program gets it meanwhile that asks for any. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    const server = createServer().listen(port, "127.0.0.1")
    const isFree = await once(server, "listening").then(
      () => true,
      () => false
    )
    if (!isFree) continue
    server.close()
    await once(server, "close")
    return port
  }
}

/** Waits until the log reports that the server accepts connections, or is written elsewhere from now on. */
const ready = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    let output = ""
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      output += text
      if (/ready to accept connections|redirecting log output/.test(output)) resolve()
    })
    child.once("exit", () => reject(new Error(output)))
  })

/** Starts a server with additional settings, `name=value`, and its data in a new folder of `parent`. */
export const startPostgres = async (
  more: ReadonlyArray<string> = [],
  parent = realpathSync(tmpdir())
): Promise<PostgresServer> => {
  const folder = mkdtempSync(join(parent, "corral-pg-"))
  const program = await findPostgres(join(folder, "programs")).catch(() => {
    mkdirSync(join(folder, "programs"), { recursive: true })
    return findPostgres(join(folder, "programs"))
  })
  const data = join(folder, "data")
  mkdirSync(data, { mode: 0o700 })
  await program.takeOwnership(data)
  const password = randomBytes(12).toString("hex")
  const passwordFile = join(folder, "password")
  writeFileSync(passwordFile, password)
  await program.takeOwnership(passwordFile)
  const initialized = program.call("initdb", [
    "-D",
    data,
    "-U",
    "corral",
    "--auth=scram-sha-256",
    `--pwfile=${passwordFile}`,
    "--no-sync",
    "--encoding=UTF8",
    "--no-locale",
    // The password is random: iterations that slow an attacker down would slow each connection of a test.
    "-c",
    "scram_iterations=1"
  ])
  execFileSync(initialized.file, initialized.args, { ...initialized.options, stdio: "ignore" })
  const port = await freePort()
  const settings = [
    "listen_addresses=127.0.0.1",
    `port=${port}`,
    "unix_socket_directories=",
    "max_connections=200",
    ...more
  ]
  const call = program.call("postgres", ["-D", data, ...settings.flatMap((setting) => ["-c", setting])])
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(call.file, call.args, { ...call.options, stdio: ["ignore", "ignore", "pipe"] })
    await within(ready(child), 20_000, "PostgreSQL")
    return child
  }
  const end = async (child: ChildProcess): Promise<void> => {
    const exit = once(child, "exit")
    child.kill("SIGINT")
    await within(exit, 10_000, "the end of PostgreSQL")
  }
  let child = await start()
  return {
    url: `postgres://corral:${password}@127.0.0.1:${port}/postgres`,
    restart: async () => {
      await end(child)
      child = await start()
    },
    stop: async () => {
      await end(child)
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** Runs one statement with a separate client. */
export const query = async (url: string, text: string): Promise<ReadonlyArray<Record<string, unknown>>> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows as ReadonlyArray<Record<string, unknown>>
  } finally {
    await client.end()
  }
}
