/**
 * TypeScript's compiler with Effect's own diagnostics: `@effect/tsgo` ships a build of it. Plain `tsc` runs where the lock file has no such build
 * for the system.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))

const compiler = (): string => {
  const modules = `${root}node_modules`
  const { version } = JSON.parse(readFileSync(`${modules}/typescript/package.json`, "utf8"))
  const withDiagnostics = `${modules}/@effect/tsgo-${process.platform}-${process.arch}/artifacts/typescript/${version}/tsc`
  if (existsSync(withDiagnostics)) return withDiagnostics
  console.error("@effect/tsgo has no build for this system: checking without Effect's diagnostics")
  return `${modules}/.bin/tsc`
}

/** Percentage by which the compiler's memory may grow between two collections. Go's default, 100, costs a third more processor time. */
const memoryGrowth = { GOGC: "400" }

/** Runs the compiler at the root of the repository. Returns its exit code. */
export const compileTypes = (...args: ReadonlyArray<string>): number => {
  const env = { ...memoryGrowth, ...process.env }
  return spawnSync(compiler(), args, { cwd: root, env, stdio: "inherit" }).status ?? 1
}
