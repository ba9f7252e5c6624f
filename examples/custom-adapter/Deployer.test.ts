/** The example's adapter passes the conformance checks on its recordings. */
import { testAdapter } from "@corral/conformance/TestAdapter"
import { describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { makeDeployer } from "./Deployer.ts"

const recording = (name: string, outcome: "Completed" | "Failed", reason?: string) => ({
  name,
  start: { prompt: "the website", mode: "ask", workspacePath: "/workspace" } as const,
  stdout: readFileSync(join(import.meta.dirname, `recordings/${name}/stdout.jsonl`)),
  chunkSizes: [40, 40],
  exit: { code: 0, signal: null, stderr: "" },
  expected: { outcome, reason }
})

testAdapter(
  { describe, it },
  {
    adapter: makeDeployer("/node", "/deployer.mjs"),
    recordings: [recording("deploys", "Completed"), recording("denied", "Failed", "not_deployed")]
  }
)
