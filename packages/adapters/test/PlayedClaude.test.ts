/** The adapter against a process that talks like the real one: the recordings, played by `fixtures/bin/claude`. */
import type { RunStart } from "@corral/domain/run/RuntimeAdapter"
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import path from "node:path"
import { claudeCode } from "../src/ClaudeCode.ts"
import { invariantFindings, deltasJoin } from "@corral/conformance/Invariants"
import { Conversation, workspace } from "./Conversation.ts"
import { fixtures } from "@corral/testing/recordings/Fixtures"

let folder: ReturnType<typeof workspace>
let running: Array<Conversation> = []

beforeEach(() => {
  folder = workspace({ "README.md": "# Demo\n\nHello world\n" })
})
afterEach(() => {
  for (const conversation of running) conversation.stop()
  running = []
  folder.remove()
})

const play = (recording: string, more: Partial<RunStart> = {}): Conversation => {
  const start: RunStart = { prompt: "Please do the task.", mode: "ask", workspacePath: folder.path, ...more }
  const PATH = [`${fixtures}bin`, path.dirname(process.execPath), process.env["PATH"]].join(path.delimiter)
  const conversation = new Conversation(claudeCode, start, { PATH, CORRAL_PLAY: recording })
  running.push(conversation)
  return conversation
}
const inFolder = (name: string) => path.join(folder.path, name)
const outcomeOf = async (conversation: Conversation) => (await conversation.next("Outcome")).outcome

describe("a played claude", () => {
  it("answers the probe", () => {
    const version = execFileSync(process.execPath, [`${fixtures}bin/claude`, ...claudeCode.probe.versionArgs])
    assert.strictEqual(version.toString(), "2.1.329 (Claude Code)\n")
  })

  it("runs the command that was allowed, and leaves when its stdin ends", async () => {
    const run = play("approval-allowed")
    const { key, request } = await run.next("Approval")
    assert.isFalse(existsSync(inFolder("approved.txt")))
    assert.strictEqual(request.command, "touch approved.txt && echo created")
    run.answer(key, { decision: "allow", scope: "once" })
    assert.strictEqual((await outcomeOf(run))._tag, "Completed")
    assert.isTrue(existsSync(inFolder("approved.txt")))
    assert.strictEqual((await run.ended).code, 0)
    assert.deepStrictEqual([...invariantFindings(run.outputs), ...deltasJoin(run.outputs)], [])
  })

  it("runs an edited command instead", async () => {
    const run = play("approval-allowed")
    const { key } = await run.next("Approval")
    run.answer(key, { decision: "allow", scope: "once", updatedInput: { command: "touch edited.txt" } })
    await outcomeOf(run)
    assert.deepStrictEqual(
      [existsSync(inFolder("approved.txt")), existsSync(inFolder("edited.txt"))],
      [false, true]
    )
  })

  it("continues without the denied action, in the same conversation", async () => {
    const run = play("approval-allowed")
    const { key } = await run.next("Approval")
    run.answer(key, { decision: "deny", scope: "once" })
    assert.deepInclude(await outcomeOf(run), { _tag: "Completed", text: "Finished after the decision." })
    assert.isFalse(existsSync(inFolder("approved.txt")))
    const result = await run.next("Event", ({ event }) => event.type === "run.tool.result")
    assert.deepInclude(result.event.payload, { status: "denied" })
    assert.deepStrictEqual(invariantFindings(run.outputs), [])
  })

  it("a decision that cancels ends the run", async () => {
    const run = play("approval-allowed")
    const { key } = await run.next("Approval")
    run.answer(key, { decision: "cancel", scope: "once" })
    assert.strictEqual((await outcomeOf(run))._tag, "Cancelled")
    assert.strictEqual((await run.ended).code, 1)
  })

  it("edits and writes files by their workspace-relative names", async () => {
    const edit = play("approval-edit-allowed")
    const requested = await edit.next("Approval")
    assert.deepStrictEqual(requested.request.files, ["README.md"])
    edit.answer(requested.key, { decision: "allow", scope: "run" })
    await outcomeOf(edit)
    assert.strictEqual(readFileSync(inFolder("README.md"), "utf8"), "# Demo\n\nHello edited world\n")
    const changed = await edit.next("Event", ({ event }) => event.type === "run.file.changed")
    assert.deepInclude(changed.event.payload, { path: "README.md", change: "modified" })
    await outcomeOf(play("file-write", { mode: "auto_edit" }))
    assert.strictEqual(readFileSync(inFolder("notes.txt"), "utf8"), "line one\nline two\n")
  })

  it("takes a second message in the same process", async () => {
    const run = play("multi-turn-one-process", { prompt: "First." })
    run.write(run.protocol.input("Second."))
    assert.deepInclude(await outcomeOf(run), { text: "Second turn answer, I remember the first." })
  })

  it("is interrupted while it asks, and while it speaks", async () => {
    for (const recording of ["approval-allowed", "cancel-interrupt"]) {
      const run = play(recording)
      if (recording === "approval-allowed") await run.next("Approval")
      else await run.next("Event", ({ event }) => event.type === "run.message.delta")
      run.write(run.protocol.cancel())
      assert.strictEqual((await outcomeOf(run))._tag, "Cancelled")
      assert.strictEqual((await run.ended).code, 1)
      assert.deepStrictEqual(invariantFindings(run.outputs), [])
    }
  })

  it("is not signed in, is started wrongly, is killed: each told apart", async () => {
    const reasonOf = async (run: Conversation) => {
      const outcome = await outcomeOf(run)
      return outcome._tag === "Failed" ? outcome.error.details?.["reason"] : undefined
    }
    assert.strictEqual(await reasonOf(play("auth-missing")), "not_signed_in")
    assert.strictEqual(await reasonOf(play("bad-flag")), "bad_option")
    assert.strictEqual(
      await reasonOf(play("resume-unknown-session", { resumeSessionId: "gone" })),
      "unknown_session"
    )
    const hanging = play("timeout-hang")
    await hanging.next("Event", ({ event }) => event.type === "run.started")
    hanging.child.kill("SIGKILL")
    assert.strictEqual(await reasonOf(hanging), "crashed")
  })
})
