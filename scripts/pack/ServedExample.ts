/** Examples outside the repository, on packed packages: the folder of their copies, and those that serve. */
import { freePort } from "@corral/testing/postgres/PostgresServer"
import { until, UncontendedTime } from "@corral/testing/time/Until"
import { onTestFinished } from "@effect/vitest"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, mkdtempSync } from "node:fs"
import { join } from "node:path"
import { root } from "./Modules.ts"

/** Compiled code of the sources and libraries that all examples load. */
export const compileCache = { NODE_COMPILE_CACHE: join(root, "node_modules/.cache/node-compile") }

/** Copies the examples into a new folder below that of the packages. */
export const copyExamples = (packages: string): string => {
  const outside = mkdtempSync(join(packages, "examples-"))
  cpSync(join(root, "examples"), join(outside, "examples"), {
    recursive: true,
    filter: (path) => !path.endsWith(".test.ts") && !path.endsWith("tsconfig.json")
  })
  return outside
}

export interface ServedExample {
  /** Where its server is. */
  readonly url: string
  /** stdout and stderr. */
  readonly output: () => string
  /** A request over its own connection: one that stays open would delay the stop. */
  readonly request: (path: string, init?: RequestInit) => Promise<Response>
  /** Sends SIGTERM; succeeds with the milliseconds of uncontended time until it has ended. */
  readonly stop: () => Promise<number>
}

/** Starts an example that serves, waits until it answers at `path`, and stops it after the test. */
export const serveExample = async (
  outside: string,
  example: string,
  options: {
    readonly env?: Readonly<Record<string, string>>
    readonly path: string
    readonly port?: number
  }
): Promise<ServedExample> => {
  const port = options.port ?? (await freePort())
  const child = spawn(process.execPath, [`examples/${example}/main.ts`], {
    cwd: outside,
    env: { PATH: process.env["PATH"] ?? "", ...compileCache, ...options.env, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const exited = once(child, "exit")
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)))
  const stop = async () => {
    const time = new UncontendedTime()
    child.kill("SIGTERM")
    await exited
    return time.millis
  }
  onTestFinished(async () => void (await stop()))
  const url = `http://127.0.0.1:${port}`
  const request = (path: string, { headers, ...init }: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { ...headers, connection: "close" } })
  // A request before the routes are ready gets no answer.
  const isReady = () => {
    if (child.exitCode !== null) throw new Error(`${example} ended: ${output}`)
    return request(options.path, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined)
  }
  await until(isReady, `the routes of ${example}: ${output}`, 40_000)
  return { url, output: () => output, request, stop }
}
