/**
 * `node bench/install/main.ts FOLDER`: size of an installation, and time from `npx` to a ready server, of `corral` and of other programs that npm
 * installs. Prints a table.
 *
 * FOLDER has one installation per program, in folders with the names below; `docs/packages.md` says how to make them. Each start has a new home,
 * and the programs start in turns. Does not: install anything.
 */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { machine } from "../Machine.ts"
import { median } from "../Statistics.ts"

const ROUNDS = 5
const LIMIT_MS = 60_000

interface InstalledProgram {
  readonly folder: string
  readonly args: (port: string) => ReadonlyArray<string>
  readonly env?: (port: string) => Readonly<Record<string, string>>
  /** When the server is ready: it prints a line, or answers at a path. */
  readonly ready: RegExp | string
}

const programs: Readonly<Record<string, InstalledProgram>> = {
  "corral up": {
    folder: "corral",
    args: () => ["corral", "up"],
    env: (port) => ({ CORRAL_HUB_PORT: port }),
    ready: /"ready":true/
  },
  "corral up --edge-only": {
    folder: "corral",
    args: () => ["corral", "up", "--edge-only"],
    ready: /"ready":true/
  },
  "sandbox-agent server": {
    folder: "sandbox-agent",
    args: (port) => ["sandbox-agent", "server", "--no-token", "--no-telemetry", "--port", port],
    ready: "/v1/health"
  },
  "opencode serve": {
    folder: "opencode",
    args: (port) => ["opencode", "serve", "--port", port],
    ready: /listening on/
  },
  "hapi hub": {
    folder: "hapi",
    args: () => ["hapi", "hub"],
    env: (port) => ({ HAPI_LISTEN_PORT: port }),
    ready: "/"
  }
}

const freePort = async (): Promise<string> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  return typeof address === "object" && address !== null ? String(address.port) : ""
}

const answers = async (url: string, signal: AbortSignal): Promise<boolean> => {
  while (!signal.aborted) {
    const attempt = AbortSignal.any([signal, AbortSignal.timeout(1_000)])
    const response = await fetch(url, { signal: attempt }).catch(() => undefined)
    if (response?.ok === true) return true
    await new Promise((next) => setTimeout(next, 5))
  }
  return false
}

const prints = async (output: Readable, line: RegExp): Promise<boolean> => {
  for await (const text of createInterface({ input: output })) if (line.test(text)) return true
  return false
}

/** Milliseconds until the server is ready, in a new home. */
const timeToReady = async (root: string, { args, env, folder, ready }: InstalledProgram): Promise<number> => {
  const home = mkdtempSync(join(tmpdir(), "corral-start-"))
  const port = await freePort()
  const startedAt = performance.now()
  const child = spawn("npx", ["--no", ...args(port)], {
    cwd: join(root, folder),
    detached: true,
    env: {
      PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`,
      HOME: home,
      ...env?.(port)
    },
    stdio: ["ignore", "pipe", "ignore"]
  })
  const closed = once(child, "exit")
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), LIMIT_MS)
  const aborted = once(stop.signal, "abort").then(() => false)
  const isServing =
    typeof ready === "string"
      ? answers(`http://127.0.0.1:${port}${ready}`, stop.signal)
      : prints(child.stdout, ready)
  const isReady = await Promise.race([isServing, aborted, closed.then(() => false)])
  const millis = performance.now() - startedAt
  clearTimeout(timer)
  // Corral stops its database; others are not asked to stop, because some do not end at Ctrl-C.
  if (child.pid !== undefined && child.exitCode === null)
    process.kill(-child.pid, folder === "corral" ? "SIGINT" : "SIGKILL")
  await closed
  stop.abort()
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  if (!isReady) throw new Error(`${folder} was not ready`)
  return millis
}

const megabytes = (path: string): number =>
  Number(spawnSync("du", ["-sm", path], { encoding: "utf8" }).stdout.split("\t")[0])

const root = resolve(process.argv[2] ?? "")
const times = new Map<string, Array<number>>()
/** The round before the first warms up the files and what each program compiles and keeps. */
for (let round = 0; round <= ROUNDS; round++)
  for (const [name, program] of Object.entries(programs)) {
    const millis = await timeToReady(root, program)
    times.set(name, [...(times.get(name) ?? []), millis])
    console.error(`${name}: ${Math.round(millis)} ms`)
  }
console.log(JSON.stringify(machine()))
console.log("| program | installed | first start | ready (median of 5) |\n|---|---|---|---|")
for (const [name, { folder }] of Object.entries(programs)) {
  const [first = Number.NaN, ...others] = times.get(name) ?? []
  const size = megabytes(join(root, folder, "node_modules"))
  console.log(`| ${name} | ${size} MB | ${Math.round(first)} ms | ${Math.round(median(others))} ms |`)
}
