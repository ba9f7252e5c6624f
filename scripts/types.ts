/**
 * Type check of every package, with Effect's own diagnostics in the same pass.
 * `effect-tsgo` ships a TypeScript build that carries them; where it has no build for the machine, plain `tsc` runs.
 */
import { execFileSync, spawnSync } from "node:child_process"

const bin = (name: string) => `node_modules/.bin/${name}`

function compiler(): string {
  try {
    return execFileSync(bin("effect-tsgo"), ["get-exe-path"], { encoding: "utf8" }).trim()
  } catch {
    console.error("effect-tsgo has no build for this machine: checking without Effect's diagnostics")
    return bin("tsc")
  }
}

const { status } = spawnSync(compiler(), ["--build", ...process.argv.slice(2)], { stdio: "inherit" })
process.exitCode = status ?? 1
