/**
 * No secret of a runtime reaches anybody: programs of a real Edge say the recordings of the real ones, with secrets wherever a program
 * prints its own text, and everything that the Edge sends, logs and stores is searched for them and for pieces of them.
 */
import { loadRecording } from "@corral/conformance/Recordings"
import type { RunMode } from "@corral/domain/run/Run"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"

/** Known by its form. */
const key = "sk-proj-A1b2C3d4E5f6G7h8"
/** Known as a value of the runtime's environment. */
const value = "correct-horse-battery"
/** So much of a secret must not be told either, where a text is cut inside it. */
const PIECE = 9

const fixtures = fileURLToPath(new URL("../../../adapters/test/fixtures/", import.meta.url))
const programs = "claude claude-agent-acp codex copilot gemini opencode pi qwen".split(" ")
const names = "ANTHROPIC_API_KEY GEMINI_API_KEY GH_TOKEN OPENAI_API_KEY".split(" ")

/** What the programs of this folder say next. `{value}` stands for what they find in their environment. */
interface Play {
  readonly stdout: string
  readonly stderr: string
  readonly code: number
}

/** A program that says what its folder tells it to, and secrets where it is asked about itself. */
const player = `#!${process.execPath}
const { readFileSync, writeSync } = require("node:fs")
const found = ${JSON.stringify(names)}.map((name) => process.env[name]).find((value) => value !== undefined)
const say = (fd, text) => {
  const bytes = Buffer.from(text.replaceAll("{value}", found))
  for (let at = 0; at < bytes.length; ) {
    try { at += writeSync(fd, bytes, at) } catch (error) { if (error.code !== "EAGAIN") throw error }
  }
}
if (/--version|status/.test(process.argv.slice(2).join(" "))) {
  say(1, "9.9.9 ${key} {value}\\n")
  process.exit(1)
}
const { code, stderr, stdout } = JSON.parse(readFileSync(__dirname + "/play.json", "utf8"))
say(1, stdout)
say(2, stderr)
process.exitCode = code
`

/** What the recorded model said and did, now with secrets in it: whole, cut between two pieces, and where a label or an error is cut. */
const replacements: ReadonlyArray<readonly [RegExp, string]> = [
  [/I need to ru/g, `I need k:${key.slice(0, 10)}`],
  [/n a command (?=["t])/g, `${key.slice(10)} v:{value} a command `],
  [/touch approved\.txt/g, `touch approved.txt ${"x".repeat(80)} {value} k:${key}`],
  [/created(?=\\n|"[,}])/g, `made k:${key} v:{value}`],
  [/Hello edited world/g, `Hello k:${key} v:{value}`],
  [/line one/g, `line k:${key} v:{value}`],
  [/(?<=[^\w])(README\.md|notes\.txt)/g, `k:${key}/v:{value}/$1`],
  [/fake: the request was invalid|Failed to get response/g, `refused ${`k:${key} v:{value} `.repeat(30)}`]
]
const withSecrets = (text: string): string =>
  replacements.reduce((replaced, [pattern, secret]) => replaced.replaceAll(pattern, secret), text)

/** A line of a later version. */
const unknown = `${JSON.stringify({ type: `new k:${key}`, method: `new v:{value}`, said: `k:${key} v:{value}` })}\n`

const recorded = (agentId: string, scenario: string): Play => {
  const { exit, stdout } = loadRecording(`${fixtures}${agentId}`, scenario)
  return {
    stdout: unknown + withSecrets(Buffer.from(stdout).toString("utf8")),
    stderr: withSecrets(exit.stderr),
    code: exit.code ?? 1
  }
}

/** It ends without a word but for its stderr, of which the Edge keeps the last part. */
const crash: Play = {
  stdout: "",
  stderr: `unknown option, No authentication information found, k:${key} v:{value} `.repeat(250),
  code: 1
}

const table: ReadonlyArray<readonly [agentId: string, mode: RunMode, scenario: string]> = [
  ["claude-code", "ask", "approval-allowed"],
  ["claude-code", "ask", "file-edit"],
  ["claude-code", "ask", "api-error-400"],
  ["claude-code", "ask", "crash"],
  ["codex", "ask", "approval-allowed"],
  ["codex", "ask", "approval-write-allowed"],
  ["codex", "ask", "api-error-400"],
  ["qwen", "ask", "approval-allowed"],
  ["qwen", "ask", "api-error-400"],
  ["gemini", "full_access", "file-edit"],
  ["copilot", "full_access", "approval-needed-headless"],
  ["copilot", "full_access", "stream-drop"],
  ["copilot", "full_access", "crash"],
  ["pi", "full_access", "file-write"],
  ["pi", "full_access", "api-error-400"],
  ["opencode-acp", "ask", "approval-allowed"],
  ["opencode-acp", "ask", "api-error-400"],
  ["gemini-acp", "ask", "approval-allowed"],
  ["claude-agent-acp", "ask", "file-edit"]
]

/** The pieces of secrets in a text, with what stands around the first. */
const leaks = (text: string): ReadonlyArray<string> =>
  [key, value].flatMap((secret) => {
    for (let at = 0; at + PIECE <= secret.length; at++) {
      const found = text.indexOf(secret.slice(at, at + PIECE))
      if (found !== -1) return [text.slice(Math.max(0, found - 60), found + 60)]
    }
    return []
  })

/** Everything that an Edge sends about a run, except the user's prompt. */
const toldOf = async ({ client }: EdgeProcess, runId: string) => {
  const events = (await client.log(runId)).filter(({ type }) => type !== "run.created")
  const streamed = events.filter(({ type }) => type === "run.message.delta")
  const get = async (target: string) => (await client.ask("GET", target)).text
  return {
    events: events.map((event) => JSON.stringify(event)).join("\n"),
    streamed: streamed.map(({ payload }) => payload["text"]).join(""),
    run: JSON.stringify({ ...(await client.run(runId)), input: undefined }),
    result: (await client.result(runId)).text,
    approvals: JSON.stringify(await client.approvals(`runId=${runId}`)),
    artifacts: await get(`/v1/runs/${runId}/artifacts`)
  }
}

describe("A secret in a runtime's output", () => {
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "corral-secrets-"))
    for (const name of programs) {
      writeFileSync(join(folder, name), player)
      chmodSync(join(folder, name), 0o755)
    }
    return () => rmSync(folder, { recursive: true, force: true })
  })

  it("reaches no event, approval, error, log or row, whichever adapter reads it", async () => {
    const env = {
      PATH: `${folder}:/usr/local/bin:/usr/bin:/bin`,
      ...Object.fromEntries(names.map((name) => [name, value]))
    }
    const edge = await openEdgeProcess({ grants: ["full_access"], env })
    const found: Array<unknown> = []
    for (const [agentId, mode, scenario] of table) {
      const play = scenario === "crash" ? crash : recorded(agentId, scenario)
      writeFileSync(join(folder, "play.json"), JSON.stringify(play))
      const { id } = await edge.client.create("Do the task.", mode, { agentId })
      const received = await toldOf(edge, id)
      for (const [what, text] of Object.entries(received))
        for (const leak of leaks(text)) found.push([agentId, scenario, what, leak])
      // A test that said none would find none.
      if (!/k:\[redacted\][^]*v:\[redacted\]/.test(received.events))
        found.push([agentId, scenario, "says no secret", received.events.slice(0, 2_000)])
    }
    const health = (await edge.client.ask("GET", "/v1/health")).text
    assert.include(
      health,
      JSON.stringify('{"type":"new k:[redacted]","method":"new v:[redacted]"').slice(1, -1)
    )
    const agents = (await edge.client.ask("GET", "/v1/agents")).text
    const runs = (await edge.client.ask("GET", "/v1/runs")).text
    await edge.stop()
    const disk = readdirSync(edge.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    for (const [at, text] of [health, agents, runs, edge.stderr, ...disk].entries())
      for (const leak of leaks(text)) found.push([at, leak])
    assert.deepStrictEqual(found, [])
  })

  it("is in no artifact's name or media type", async () => {
    const edge = await openEdgeProcess()
    const { id } = await edge.client.create(
      `/artifact k:${key}.txt text/x-${key} The content stays as it is.`
    )
    const { artifacts, events } = await toldOf(edge, id)
    assert.include(artifacts, "k:[redacted].txt")
    assert.deepStrictEqual([artifacts, events].flatMap(leaks), [])
  })
})
