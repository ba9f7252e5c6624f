/**
 * The real programs, driven through the Edge, without a confinement and confined: whether the adapters still mean what the programs say. What a program or a registry does not
 * allow here is skipped, and says why.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { afterAll, assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { codeOf } from "@corral/testing/edge/EdgeClient"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"
import { withConfinements } from "./Confinements.ts"
import { RIGHT_KEY, WRONG_KEY } from "./FakeModels.ts"
import { install } from "./Installation.ts"
import { programs } from "./Programs.ts"
import { NEW, OLD, promptFor } from "./Script.ts"
import { type Played, Stage } from "./Stage.ts"

const installed = []
for (const program of programs) if (program.agents.length > 0) installed.push(await install(program))
const report: Array<string> = []
afterAll(() => console.log(report.join("\n")))

const payloads = (events: ReadonlyArray<Envelope>, type: string) =>
  events.filter((event) => event.type === type).map(({ payload }) => payload)

const allow = () => "allow" as const
const deny = () => "deny" as const
const denyWrites = ({ action }: ApprovalRequest) => (action === "write" ? deny() : allow())

/** The files of each write that was asked for. */
const writes = ({ requests }: Played) =>
  requests.filter(({ action }) => action === "write").map(({ files }) => files)

/** How a run ended, in words. */
const ending = ({ payload, type }: Envelope): string =>
  type === "run.failed" ? `${type}: ${JSON.stringify(payload["error"])}` : type

const assertCompleted = ({ end, events }: Played): void => {
  assert.strictEqual(end.type, "run.completed", ending(end))
  const calls = payloads(events, "run.tool.call").map(({ callId }) => callId)
  const results = payloads(events, "run.tool.result").map(({ callId }) => callId)
  assert.deepStrictEqual(results.toSorted(), calls.toSorted(), "each call has its result")
}

describe.each(installed)("$program.name $program.version", (place) => {
  const { missing, program } = place
  if (missing !== undefined) {
    // At once: a report at the end would not come if everything were skipped.
    console.log(`${program.name} ${program.version} is skipped: ${missing}`)
    it.skip(`is driven: ${missing}`)
    return
  }

  const agents = withConfinements(program.agents)
  describe.each(agents)("$id, confinement $confinement", (agent) => {
    const { asksToRead, confinement, id: agentId, keepsOutput } = agent
    let stage: Stage
    beforeAll(async () => {
      stage = await Stage.open(place, agentId, RIGHT_KEY, { confinement })
    })
    afterAll(() => stage.close())

    const note = (what: string, happened: string) =>
      report.push(
        `${program.name} ${program.version}, ${agentId}, confinement ${confinement}, ${what}: ${happened}`
      )

    it("says a message, in pieces and whole", async () => {
      const text = "Good morning to everybody on the ranch"
      const played = await stage.play(promptFor("say", text), deny)
      assertCompleted(played)
      const messages = payloads(played.events, "run.message.completed").filter(
        // In a confined run, messages of the system name refused connections.
        ({ channel, role }) => channel === "text" && role !== "system"
      )
      assert.deepStrictEqual(
        messages.map(({ text }) => text),
        [text]
      )
      const deltas = payloads(played.events, "run.message.delta").filter(({ channel }) => channel === "text")
      assert.isAbove(deltas.length, 1)
      assert.strictEqual(deltas.map(({ text }) => text).join(""), text)
      assert.strictEqual(played.requests.length, 0)
      note("message", `${deltas.length} deltas, completed`)
    })

    it(`reads a file ${asksToRead ? "when allowed" : "without asking"}`, async () => {
      const played = await stage.play(promptFor("read", "README.md"), allow)
      assertCompleted(played)
      assert.deepStrictEqual(
        played.requests.map(({ command }) => command),
        asksToRead ? ["cat README.md"] : []
      )
      assert.include(
        payloads(played.events, "run.file.read").map(({ path }) => path),
        "README.md"
      )
      assert.include(played.modelRequests.at(-1) ?? "", OLD, "the model was told what is in it")
      note("read", `${asksToRead ? "asked; " : ""}the file was named, its content reached the model`)
    })

    it("runs a command that was allowed", async () => {
      const command = "echo one > made.txt && echo made-it"
      const played = await stage.play(promptFor("run", command), allow)
      assertCompleted(played)
      const [request] = played.requests
      assert.strictEqual(played.requests.length, 1)
      assert.strictEqual(request?.action, "shell")
      assert.include(request?.command ?? "", command)
      assert.strictEqual(stage.file("made.txt"), "one\n")
      const [result] = payloads(played.events, "run.tool.result")
      if (keepsOutput) assert.isUndefined(result?.["output"])
      else assert.include(String(result?.["output"]), "made-it")
      assert.include(played.modelRequests.at(-1) ?? "", "made-it")
      note(
        "shell",
        `asked with the command itself; its output ${keepsOutput ? "stays with the program" : "came back"}`
      )
    })

    it("leaves a file alone where the edit was denied", async () => {
      const played = await stage.play(promptFor("edit", "README.md"), denyWrites)
      // A program can stop after a denial.
      if (played.end.type === "run.failed") assert.match(ending(played.end), /"code":"approval_rejected"/)
      else assert.include(["run.completed", "run.cancelled"], played.end.type, ending(played.end))
      assert.deepStrictEqual(writes(played), [["README.md"]])
      assert.include(stage.file("README.md"), OLD)
      assert.deepStrictEqual(payloads(played.events, "run.file.changed"), [])
      assert.deepInclude(payloads(played.events, "run.approval.resolved").at(-1), { state: "denied" })
      note("edit denied", `nothing changed, ${played.end.type}`)
    })

    it("edits a file where that was allowed", async () => {
      const played = await stage.play(promptFor("edit", "README.md"), allow)
      assertCompleted(played)
      assert.deepStrictEqual(writes(played), [["README.md"]])
      assert.include(stage.file("README.md"), NEW)
      assert.deepInclude(payloads(played.events, "run.file.changed")[0], {
        path: "README.md",
        change: "modified"
      })
      const patch = payloads(played.events, "run.patch.proposed").find(({ path }) => path === "README.md")
      assert.include(String(patch?.["patch"]), `+${NEW}`)
      note("edit allowed", "asked with the file, changed and told with its patch")
    })

    it.runIf(confinement === "required")(
      "edits a file of a protected folder where that was allowed",
      async () => {
        const file = ".vscode/notes.md"
        stage.write(file, `# Notes\n\n${OLD}\n`)
        const played = await stage.play(promptFor("edit", file), allow)
        assertCompleted(played)
        assert.deepStrictEqual(writes(played), [[file]])
        assert.strictEqual(stage.file(file), `# Notes\n\n${NEW}\n`)
        assert.deepStrictEqual(payloads(played.events, "run.protected.changed"), [])
        note("edit of a protected folder", "arrived in the workspace")
      }
    )

    it("is cancelled in the middle of a tool, and leaves no process behind", async () => {
      const script = promptFor("run", "echo begun > begun.txt && sleep 300")
      const { reader, runId } = await stage.playUntil(script, "begun.txt")
      const started = stage.edge.survivorsOf(runId)
      assert.isTrue(
        started.some(({ command }) => /sleep 300/.test(command)),
        `the command runs: ${JSON.stringify(started)}`
      )
      const startedAt = performance.now()
      const cancelled = reader.event("run.cancelled", 30_000).then(() => stage.edge.survivorsOf(runId))
      const [left, { status }] = await Promise.all([cancelled, stage.edge.client.cancel(runId)])
      const took = Math.round(performance.now() - startedAt)
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(left, [])
      await reader.ended
      assertWhole(reader.events)
      assert.deepInclude(payloads(reader.events, "run.tool.result")[0], { status: "cancelled" })
      note("cancel", `${started.length} processes before, none after ${took} ms`)
    })

    it("fails as bad credentials with a wrong key", async () => {
      const wrong = await Stage.open(place, agentId, WRONG_KEY, { confinement })
      onTestFinished(() => wrong.close())
      const { end } = await wrong.play(promptFor("say", "This is never said"), deny)
      assert.strictEqual(end.type, "run.failed")
      const error = end.payload["error"] as { readonly code: string; readonly details?: object }
      assert.strictEqual(error.code, "runtime_unavailable")
      assert.deepInclude(error.details, { reason: "bad_credentials" }, ending(end))
      note("wrong key", ending(end))
    })
  })
})

// It needs no installation: it is about one that is not there.
describe.each(programs.flatMap(({ agents, command }) => agents.map(({ id }) => ({ agentId: id, command }))))(
  "$agentId without its program",
  ({ agentId, command }) => {
    it("is refused with how to install it", async () => {
      const empty = mkdtempSync(join(tmpdir(), "corral-empty-"))
      onTestFinished(() => rmSync(empty, { recursive: true }))
      const { client } = await openEdgeProcess({ env: { PATH: empty } })
      assert.isFalse(existsSync(join(empty, command)))
      const answer = await client.tryCreate("Anything", "ask", { agentId })
      assert.deepStrictEqual([answer.status, codeOf(answer)], [503, "runtime_unavailable"])
      assert.deepInclude(answer.body, { details: { reason: "command_missing", agentId } })
      assert.match((answer.body as { readonly message: string }).message, /npm install/)
      report.push(`${agentId}, missing command: ${(answer.body as { readonly message: string }).message}`)
    })
  }
)
