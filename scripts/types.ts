/**
 * Type check of every package, with Effect's own diagnostics in the same pass.
 * `@effect/tsgo` ships a TypeScript build with these diagnostics. Plain `tsc` runs where the lock file has no such build for the system.
 *
 * One checker per project: each further checker checks the shared types again, which costs nearly twice the processor time. Projects are
 * still built concurrently.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"

function compiler(): string {
  const { version } = JSON.parse(readFileSync("node_modules/typescript/package.json", "utf8"))
  const withDiagnostics = `node_modules/@effect/tsgo-${process.platform}-${process.arch}/artifacts/typescript/${version}/tsc`
  if (existsSync(withDiagnostics)) return withDiagnostics
  console.error("@effect/tsgo has no build for this system: checking without Effect's diagnostics")
  return "node_modules/.bin/tsc"
}

const { status } = spawnSync(compiler(), ["--build", "--checkers", "1", ...process.argv.slice(2)], {
  stdio: "inherit"
})
process.exitCode = status ?? 1
