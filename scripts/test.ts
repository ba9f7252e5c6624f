/**
 * `npm test`: checks, builds, then runs the tests with the given arguments of vitest.
 *
 * The type check runs beside all of this, and the other checks beside the build: each would use one processor for a long part while the other waits. It
 * has one checker, because the tests use what it leaves. Its findings are printed at the end. Any other check that fails ends the run before the
 * tests.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const node = (...args: ReadonlyArray<string>) => [process.execPath, ...args] as const
const npm = (script: string) => ["npm", "run", "--silent", script] as const

const start = ([program = "", ...args]: ReadonlyArray<string>, output: "inherit" | "pipe" = "inherit") =>
  spawn(program, args, {
    cwd: root,
    env: { ...process.env, CORRAL_TEST_ENTRY: "dist" },
    stdio: ["ignore", output, output]
  })

/** Exit code; 1 after a signal. */
const run = async (command: ReadonlyArray<string>): Promise<number> => {
  const [code] = await once(start(command), "exit")
  return code ?? 1
}

const types = start(node("scripts/checkTypes.ts", "--checkers", "1"), "pipe")
const found: Array<Buffer> = []
for (const output of [types.stdout, types.stderr]) output?.on("data", (part: Buffer) => found.push(part))
const typesEnd = once(types, "close")

/** Runs them in this order. Code of the first that fails. */
const runAll = async (scripts: ReadonlyArray<string>): Promise<number> => {
  for (const script of scripts) {
    const code = await run(npm(script))
    if (code !== 0) return code
  }
  return 0
}

const rest = async (): Promise<number> => {
  const codes = await Promise.all([runAll(["format:check", "lint", "walls"]), runAll(["build"])])
  const failed = codes.find((code) => code !== 0)
  return failed ?? run(node("node_modules/vitest/vitest.mjs", "run", ...process.argv.slice(2)))
}

const code = await rest()
const [typesCode] = await typesEnd
process.stderr.write(Buffer.concat(found))
if (typesCode !== 0) console.error("The type check failed.")
process.exitCode = code === 0 ? (typesCode ?? 1) : code
