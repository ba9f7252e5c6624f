/**
 * A scripted agent whose stdin is recorded, line by line, before the agent reads it: what a program has really received, whichever services died
 * meanwhile.
 */
import { onTestFinished } from "@effect/vitest"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A line that answers a question. */
export interface ReceivedResponse {
  readonly type: "response"
  readonly id: string
  readonly unanswered?: string
  readonly approved?: boolean
}

const recorder = (records: string): string => `#!${process.execPath}
const { spawn } = require("node:child_process")
const { appendFileSync } = require("node:fs")
const { join } = require("node:path")
const record = join(${JSON.stringify(records)}, String(process.env.CORRAL_RUN_ID))
const child = spawn(process.execPath, process.argv.slice(2), { stdio: ["pipe", "inherit", "inherit"] })
let rest = ""
process.stdin.on("data", (bytes) => {
  const lines = (rest + bytes).split("\\n")
  rest = lines.pop()
  for (const line of lines) appendFileSync(record, line + "\\n")
  child.stdin.write(bytes)
})
process.stdin.on("end", () => child.stdin.end())
child.stdin.on("error", () => undefined)
child.on("exit", (code) => process.exit(code ?? 1))
`

export class RecordingAgent {
  readonly id = "recorded"
  readonly #folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-recorded-"))
  readonly #records = join(this.#folder, "records")

  constructor() {
    onTestFinished(() => rmSync(this.#folder, { recursive: true, force: true }))
    mkdirSync(this.#records)
    writeFileSync(join(this.#folder, "agent.cjs"), recorder(this.#records), { mode: 0o755 })
    const program = join(this.#folder, "agent.cjs")
    const profiles = [{ id: this.id, label: "Recorded", adapter: "scripted", program }]
    writeFileSync(this.#config, JSON.stringify({ profiles }), { mode: 0o600 })
  }

  /** Environment of an Edge that offers it. */
  get env(): Readonly<Record<string, string>> {
    return { CORRAL_EDGE_CONFIG_FILE: this.#config }
  }

  /** The responses that the program of the run has received. */
  responses(runId: string): ReadonlyArray<ReceivedResponse> {
    const file = join(this.#records, runId)
    if (!existsSync(file)) return []
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { readonly type: string })
      .filter((line): line is ReceivedResponse => line.type === "response")
  }

  get #config(): string {
    return join(this.#folder, "edge.config.json")
  }
}
